/** Moving a response log between LMDB and PostgreSQL. */
import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { openConfiguredLog } from '../../../agent/service/response-log.ts'
import { findOwnerFault } from '../../../agent/service/check-log-owner.ts'
import { RECORD_STATES, type ResponseRecord } from '../../../store/log/record.ts'
import { cancelMove, findMoveFault, moveLog, PART, type MovableLog } from '../../../store/log/move.ts'
import { findPostgres, makeEmptyLog } from '../../support/postgres.ts'
import { makeRecord, RECEIVER, storeRecord } from '../../support/records.ts'
import { replaceMethods } from '../../support/replace-methods.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { failureOf } from '../../support/failure.ts'

type Kind = 'LMDB' | 'PostgreSQL'
const OWNER = {
  log_id: '7d4f0c1e-1111-4222-8333-444455556666',
  network: 'eip155:84532',
  asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e',
  pay_to: RECEIVER,
  receivers: [RECEIVER],
}
const time = new Date()
const minutesFrom = (minutes: number) => new Date(time.getTime() + minutes * 60_000).toISOString()
const FAR = new Date(minutesFrom(30))

/** A record of each state. The payment id of the void one was released, and another payment has taken it. */
const RECORDS: ResponseRecord[] = [
  ...RECORD_STATES.map((state, index) =>
    makeRecord({ state, identity: `payer/${index}`, payment_id: `payer id ${index}`, updated_at: minutesFrom(index) }),
  ),
  makeRecord({ identity: 'payer/taken', payment_id: `payer id ${RECORD_STATES.indexOf('expired')}` }),
  makeRecord({ identity: 'payer/due', due_at: minutesFrom(10), body: 'x'.repeat(100) }),
].map((record) => Object.assign(record, { prepared_at: time.toISOString() }))

async function fill(log: MovableLog): Promise<void> {
  await log.setOwner(OWNER, undefined)
  for (const record of RECORDS) await storeRecord(log, record)
  await log.announceKey({ kid: 'kid', jwk: { kty: 'EC', x: 'x' }, compromised_at: null })
  await log.announceKey({ kid: 'kid', jwk: { kty: 'EC', x: 'x' }, compromised_at: '2026-01-01' })
  await log.noteUnrecorded({ identity: 'payer/unrecorded', transaction: '0x1', found_at: time.toISOString() })
  await log.setNote('doubt/https://facilitator.example payer/1', 'reported')
}

/** Everything that a service can read. */
async function contentOf(log: MovableLog) {
  const ids = RECORDS.flatMap(({ payment_id }) => payment_id ?? [])
  const [owner, keys, unrecorded] = [await log.owner(), await log.publicKeys(), await log.unrecorded()]
  const content = {
    records: await Promise.all(RECORDS.map(({ identity }) => log.read(identity))),
    byId: await Promise.all(ids.map(async (id) => (await log.read('none', id))?.identity)),
    due: (await log.due({ before: FAR, max: 100 })).toSorted(),
    unfinished: [...(await log.countUnfinished())],
    doubts: [...(await log.notes('doubt/'))],
    owner,
    keys,
    unrecorded,
  }
  // Without members that are undefined.
  return JSON.parse(JSON.stringify(content)) as typeof content
}

/** A log whose calls fail from a certain one on, as if the process had died there. */
function dying(log: MovableLog, calls: { left: number }): MovableLog {
  return new Proxy(log, {
    get(target, name) {
      const method = Reflect.get(target, name) as (...args: unknown[]) => unknown
      return (...args: unknown[]) => {
        if (calls.left <= 0) throw new Error('killed')
        calls.left -= 1
        return method.apply(target, args)
      }
    },
  })
}

for (const [from, to] of [
  ['LMDB', 'PostgreSQL'],
  ['PostgreSQL', 'LMDB'],
  ['LMDB', 'LMDB'],
] as const) {
  describe(`moving a response log from ${from} to ${to}`, () => {
    const logs: MovableLog[] = []
    const places: Record<'source' | 'target', { dataDirectory: string; responseLog: string | undefined }> = {
      source: { dataDirectory: '', responseLog: undefined },
      target: { dataDirectory: '', responseLog: undefined },
    }
    const open = async (side: 'source' | 'target') => {
      const log = await openConfiguredLog(places[side], { moving: side })
      logs.push(log)
      return log
    }
    const start = () => openConfiguredLog(places.source).then((log) => log.close())
    let source: MovableLog
    let target: MovableLog
    const move = () => moveLog({ source, target, to: 'the target' })

    beforeEach(async function () {
      const kinds: Record<'source' | 'target', Kind> = { source: from, target: to }
      for (const side of ['source', 'target'] as const) {
        if (kinds[side] === 'PostgreSQL' && findPostgres() === undefined) this.skip()
        const responseLog = kinds[side] === 'PostgreSQL' ? await makeEmptyLog() : undefined
        places[side] = { dataDirectory: await makeTemporaryDirectory(), responseLog }
      }
      source = await open('source')
      target = await open('target')
      await fill(source)
    })
    afterEach(async () => {
      // The database is shared with other tests.
      if (logs.length > 0) await source.liftFence()
      for (const log of logs.splice(0)) await log.close()
    })

    it('[14.23] copies all that a service reads', async () => {
      const content = await contentOf(source)
      expect(await move()).to.deep.equal({ records: RECORDS.length, damaged: [] })
      const copied = await contentOf(target)
      for (const [name, value] of Object.entries(content)) expect(copied, name).to.have.deep.property(name, value)
      const settled = content.records.find((record) => record?.state === 'settled')
      const claim = await target.claim(settled!)
      expect(claim).to.deep.equal({ kind: 'taken', record: settled })
      const confirmed = await target.advance(settled!, { state: 'confirmed', updated_at: minutesFrom(20) })
      expect(await target.read(settled!.identity)).to.deep.equal(confirmed)
    })

    it('[14.23] lets no process change the source once it has begun', async () => {
      const running = await open('source')
      const [prepared] = RECORDS
      await running.read(prepared!.identity)
      const calls = { left: 3 }
      expect(await failureOf(moveLog({ source, target: dying(target, calls), to: 'the target' }))).to.equal(
        'Error: killed',
      )
      expect(await failureOf(running.claim(makeRecord({ identity: 'payer/new' })))).to.match(/moved/)
      const settled = { state: 'settled', updated_at: minutesFrom(20) } as const
      expect(await failureOf(running.advance(prepared!, settled))).to.match(/moved/)
      const terms = { network: OWNER.network, asset: OWNER.asset, payTo: RECEIVER } as const
      const check = { dataDirectory: places.source.dataDirectory, terms, allowed: {} } as never
      expect(await findOwnerFault({ ...(check as object), log: source } as never)).to.match(/moved to the target/)
      if (from === 'LMDB') expect(await failureOf(start())).to.match(/moved/)
    })

    it('[14.23] continues after a kill at each step, and the target is refused until then', async () => {
      const content = await contentOf(source)
      let kills = 0
      for (let step = 0; ; step += 1) {
        const calls = { left: step }
        const attempt = moveLog({ source: dying(source, calls), target: dying(target, calls), to: 'the target' })
        const failure = await failureOf(attempt)
        if (failure === 'no failure' || /complete/.test(failure)) break
        expect(failure).to.equal('Error: killed')
        kills += 1
        const check = { log: target, dataDirectory: places.target.dataDirectory, allowed: {} }
        const terms = { network: OWNER.network, asset: OWNER.asset, payTo: RECEIVER }
        if ((await target.owner()) !== undefined) continue
        const fault = await findOwnerFault({ ...check, terms } as never)
        if ((await target.notes('move/')).size > 0) expect(fault).to.match(/not complete/)
      }
      expect(kills).to.be.above(20)
      const copied = await contentOf(target)
      for (const [name, value] of Object.entries(content)) expect(copied, name).to.have.deep.property(name, value)
    })

    it('[14.23] reads large answers in parts that are small', async () => {
      for (const identity of ['a', 'b', 'c', 'd'])
        await source.claim(makeRecord({ identity, body: 'x'.repeat(PART.BYTES_MAX / 2) }))
      for await (const part of source.export())
        if (part.kind === 'records')
          expect(part.records.filter(({ record }) => record.body.length > 1_000)).to.have.length.below(4)
      expect((await move()).records).to.equal(RECORDS.length + 4)
    })

    it('[14.23] compares every record', async () => {
      const [record] = RECORDS
      for (let more = 0; more < 110; more += 1) await source.claim(makeRecord({ identity: `payer/more ${more}` }))
      const read = async (identity: string) => ({ ...record!, identity, body: 'other' })
      const failure = await failureOf(moveLog({ source, target: replaceMethods(target, { read }), to: 'the target' }))
      expect(failure).to.match(/ 120 records differ/)
    })

    it('[14.23] refuses a target with records without an owner, or with another log, and changes nothing', async () => {
      await target.claim(makeRecord({ identity: 'payer/other' }))
      expect(await failureOf(move())).to.match(/another response log/)
      await target.setOwner({ ...OWNER, log_id: randomUUID() }, undefined)
      expect(await failureOf(move())).to.match(/another response log/)
      expect(await failureOf(source.claim(makeRecord({ identity: 'payer/new' })))).to.equal('no failure')
    })

    it('[14.23] is cancelled before it is complete, and not after it', async () => {
      const calls = { left: 8 }
      await failureOf(moveLog({ source, target: dying(target, calls), to: 'the target' }))
      await cancelMove({ source, target, to: 'the target' })
      expect(await findMoveFault(target)).to.match(/not complete/)
      expect(await failureOf(source.claim(makeRecord({ identity: 'payer/new' })))).to.equal('no failure')
      expect(await failureOf(move())).to.match(/another response log/)
      places.target = { dataDirectory: await makeTemporaryDirectory(), responseLog: undefined }
      target = await open('target')
      await move()
      expect(await failureOf(cancelMove({ source, target, to: 'the target' }))).to.match(/is complete/)
    })
  })
}
