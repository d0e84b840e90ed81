/** Moving a response log from LMDB to PostgreSQL. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { findOwnerFault } from '../../../agent/service/check-log-owner.ts'
import type { ResponseRecord } from '../../../store/log/record.ts'
import { RECORD_STATES } from '../../../store/log/states.ts'
import { LmdbResponseLog } from '../../../store/log/lmdb-responses.ts'
import { MOVED, moveLog, PART, type MoveTarget } from '../../../store/log/move.ts'
import { openPostgresResponseLog } from '../../../store/log/postgres/responses.ts'
import type { ResponseLog } from '../../../store/log/responses.ts'
import { responsesFolder } from '../../../store/files/layout.ts'
import { SETTINGS } from '../../support/log-ranges.ts'
import { findPostgres, makeEmptyLog } from '../../support/postgres.ts'
import { makeRecord, RECEIVER, storeRecord } from '../../support/records.ts'
import { replaceMethods } from '../../support/replace-methods.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { failureOf } from '../../support/failure.ts'
import { ownerOf } from '../../../store/log/owner.ts'
import { announceKey } from '../../../store/log/public-keys.ts'
import { FacilitatorDoubts } from '../../../agent/settlement/doubts.ts'
import { noteUnrecorded } from '../../../store/log/unrecorded.ts'
import { needProgram } from '../../support/programs.ts'

const OWNER = {
  log_id: '7d4f0c1e-1111-4222-8333-444455556666',
  network: 'eip155:84532' as const,
  asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e' as const,
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

async function fill(log: ResponseLog): Promise<void> {
  await ownerOf(log).compareAndSet(OWNER, undefined)
  for (const record of RECORDS) await storeRecord(log, record)
  await announceKey(log, { kid: 'kid', jwk: { kty: 'EC', x: 'x' }, compromised_at: null })
  await announceKey(log, { kid: 'kid', jwk: { kty: 'EC', x: 'x' }, compromised_at: '2026-01-01' })
  await noteUnrecorded(log, { identity: 'payer/unrecorded', transaction: '0x1', found_at: time.toISOString() })
  await new FacilitatorDoubts({ log, monotonic: () => 0 }).note({ identity: 'payer/1' })
}

/** Holds the environment open, like a service. */
const HOLD = `import { open } from 'lmdb'
const environment = open({ path: process.argv[1], ...${JSON.stringify(SETTINGS)} })
environment.get('layout')
process.once('disconnect', () => process.exit())
process.send('open')`
const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))

/** Everything that a service can read. */
async function contentOf(log: ResponseLog) {
  const ids = RECORDS.flatMap(({ payment_id }) => payment_id ?? [])
  const documents = ['owner', 'public-keys', 'unrecorded', 'doubts'].map((key) => log.document(key).read())
  const content = {
    records: await Promise.all(RECORDS.map(({ identity }) => log.read(identity))),
    byId: await Promise.all(ids.map(async (id) => (await log.read('none', id))?.identity)),
    due: (await log.list({ kind: 'open', dueBefore: FAR, max: 100 })).identities.toSorted(),
    final: await log.list({ kind: 'final', max: 100 }),
    counts: [...(await log.count())],
    documents: await Promise.all(documents),
  }
  // Without members that are undefined.
  return JSON.parse(JSON.stringify(content)) as typeof content
}

/** A log whose calls fail from a certain one on, as if the process had died there. */
function dying<Log extends ResponseLog>(log: Log, calls: { left: number }): Log {
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

const TO = 'database.internal/companies'
const terms = { network: OWNER.network, asset: OWNER.asset, payTo: RECEIVER } as const

describe('moving a response log from LMDB to PostgreSQL', () => {
  let directory: string
  let source: LmdbResponseLog
  let target: MoveTarget
  let opened: ResponseLog[]

  const move = () => moveLog({ source, target, to: TO })
  /** Why a start would be refused. */
  const faultOf = async (log: ResponseLog) =>
    findOwnerFault({ log, dataDirectory: await makeTemporaryDirectory(), terms, allowed: {} })

  before(function () {
    needProgram(this, 'PostgreSQL', findPostgres())
  })
  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    source = new LmdbResponseLog(directory)
    target = await openPostgresResponseLog({ url: await makeEmptyLog(), report: () => undefined })
    opened = [source, target]
    await fill(source)
  })
  afterEach(async () => {
    for (const log of opened) await log.close()
  })

  it('[14.23] copies all that a service reads', async () => {
    const content = await contentOf(source)
    expect(await move()).to.deep.equal({ records: RECORDS.length, damaged: [] })
    const copied = await contentOf(target)
    for (const [name, value] of Object.entries(content)) expect(copied, name).to.have.deep.property(name, value)
    expect(await faultOf(target)).to.equal(undefined)
    const settled = content.records.find((record) => record?.state === 'settled')
    expect(await target.claim(settled!)).to.deep.equal({ kind: 'taken', record: settled })
    const confirmed = await target.advance(settled!, { state: 'confirmed', updated_at: minutesFrom(20) })
    expect(await target.read(settled!.identity)).to.deep.equal(confirmed)
    expect(await failureOf(move())).to.match(/the move is complete/)
  })

  it('[14.23] changes nothing while another process has the log open', async () => {
    const others = replaceMethods(source, { otherProcesses: () => [4711] })
    expect(await failureOf(moveLog({ source: others, target, to: TO }))).to.match(/stop them first: 4711/)
    expect(await faultOf(source)).to.equal(undefined)
    expect(await faultOf(target)).to.equal(undefined)
  })

  it('[14.23] finds the processes that have the log open', async () => {
    expect(source.otherProcesses()).to.deep.equal([])
    const holder = spawn(process.execPath, ['--input-type=module', '-e', HOLD, responsesFolder(directory)], {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      timeout: 60_000,
    })
    await once(holder, 'message')
    expect(source.otherProcesses()).to.deep.equal([holder.pid])
    holder.disconnect()
    await once(holder, 'exit')
    expect(source.otherProcesses()).to.deep.equal([])
  })

  it('[14.17] lets no process change the source once it has begun, and refuses to start with it', async () => {
    const running = new LmdbResponseLog(directory)
    opened.push(running)
    const [prepared] = RECORDS
    await running.read(prepared!.identity)
    const failure = await failureOf(moveLog({ source, target: dying(target, { left: 5 }), to: TO }))
    expect(failure).to.equal('Error: killed')
    expect(await failureOf(running.claim(makeRecord({ identity: 'payer/new' })))).to.match(/moved/)
    const settled = { state: 'settled', updated_at: minutesFrom(20) } as const
    expect(await failureOf(running.advance(prepared!, settled))).to.match(/moved/)
    expect(await faultOf(source)).to.match(/moved to database\.internal/)
    expect(await failureOf(moveLog({ source, target, to: 'another' }))).to.match(/finish that/)
  })

  it('[14.17, 14.23] continues after a kill at each step, and the target is refused until then', async () => {
    const content = await contentOf(source)
    let kills = 0
    for (let step = 0; ; step += 1) {
      const calls = { left: step }
      const failure = await failureOf(moveLog({ source: dying(source, calls), target: dying(target, calls), to: TO }))
      if (failure === 'no failure' || /complete/.test(failure)) break
      expect(failure).to.equal('Error: killed')
      kills += 1
      const isMarked = (await source.document(MOVED).read()) !== undefined
      if (isMarked && (await ownerOf(target).read()) === undefined)
        expect(await faultOf(target)).to.match(/not complete/)
    }
    expect(kills).to.be.above(15)
    const copied = await contentOf(target)
    for (const [name, value] of Object.entries(content)) expect(copied, name).to.have.deep.property(name, value)
  })

  it('[14.23] reads large answers in parts that are small', async () => {
    for (const identity of ['a', 'b', 'c', 'd'])
      await source.claim(makeRecord({ identity, body: 'x'.repeat(PART.BYTES_MAX / 2) }))
    for (const { records } of source.export())
      expect(records.filter(({ record }) => record.body.length > 1_000)).to.have.length.below(4)
    expect((await move()).records).to.equal(RECORDS.length + 4)
  })

  it('[14.23] compares every record', async () => {
    const [record] = RECORDS
    for (let more = 0; more < 110; more += 1) await source.claim(makeRecord({ identity: `payer/more ${more}` }))
    const read = async (identity: string) => ({ ...record!, identity, body: 'other' })
    const failure = await failureOf(moveLog({ source, target: replaceMethods(target, { read }), to: TO }))
    expect(failure).to.match(/ 120 records differ/)
    expect(await faultOf(target)).to.match(/not complete/)
  })

  it('[14.23] refuses a target with records without an owner, or with another log, and changes nothing', async () => {
    await target.claim(makeRecord({ identity: 'payer/other' }))
    expect(await failureOf(move())).to.match(/another response log/)
    await ownerOf(target).compareAndSet({ ...OWNER, log_id: randomUUID() }, undefined)
    expect(await failureOf(move())).to.match(/another response log/)
    expect(await failureOf(source.claim(makeRecord({ identity: 'payer/new' })))).to.equal('no failure')
  })
})
