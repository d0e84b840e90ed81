/** The upgrade of a response log of layout version 2, which the version before has written. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { open, type Database } from 'lmdb'
import { encodeWithChecksum } from '../../../store/files/checksum.ts'
import { DiskSpaceError } from '../../../store/files/disk-space.ts'
import { StoreError } from '../../../store/files/environment.ts'
import { LAYOUT_KEY, responsesFolder } from '../../../store/files/layout.ts'
import { LmdbResponseLog } from '../../../store/log/lmdb-responses.ts'
import type { ResponseRecord } from '../../../store/log/record.ts'
import { SETTINGS } from '../../support/log-ranges.ts'
import { makeRecord } from '../../support/records.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
const time = '2026-01-02T00:00:00.000Z'
const NOT_UPGRADED = /needs an upgrade; start the service/

/** Holds the environment open, like a service of the version before. */
const HOLD = `import { open } from 'lmdb'
const environment = open({ path: process.argv[1], ...${JSON.stringify(SETTINGS)} })
environment.get('layout')
process.once('disconnect', () => process.exit())
process.send('open')`

const OPEN = [
  makeRecord({ identity: 'payer/1', payment_id: 'payer id' }),
  makeRecord({ identity: 'payer/2', state: 'settled', prepared_at: '2026-01-01T00:00:01.000Z' }),
  makeRecord({ identity: 'payer/3', state: 'unknown', prepared_at: '2026-01-01T00:00:02.000Z' }),
]
const FINAL = makeRecord({ identity: 'payer/4', state: 'confirmed', updated_at: time })
const OWNER = { log_id: '00000000-0000-4000-8000-000000000000', network: 'eip155:84532', asset: '0xa', pay_to: '0xb' }

describe('a response log of layout version 2', () => {
  let directory: string
  let log: LmdbResponseLog | undefined

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    log = undefined
  })
  afterEach(() => log?.close())

  interface Version2 {
    folder?: string
    open?: readonly ResponseRecord[]
    final?: readonly ResponseRecord[]
    /** Raw values of open records. */
    damaged?: Record<string, Buffer>
    /** Only in an increment. */
    removed?: readonly string[]
    count?: number
  }

  /** The databases of the version before, with records as it encoded them. */
  async function writeVersion2({ open: listed = OPEN, final = [FINAL], damaged = {}, ...others }: Version2 = {}) {
    const { folder = responsesFolder(directory), removed = [], count = 0 } = others
    const environment = open<unknown, string>({ path: folder, ...SETTINGS })
    const records = environment.openDB<Buffer, string>({ name: 'records', encoding: 'binary' })
    const names = ['unfinished', 'finished', 'payment-ids', 'unrecorded', 'changes', 'removed']
    const databases = new Map(
      names.map((name) => [name, environment.openDB<unknown, string | number>({ name, encoding: 'json' })]),
    )
    const json = (name: string) => databases.get(name) as Database<unknown, string | number>
    const many = Array.from({ length: count }, (_, index) => makeRecord({ identity: `many/${index}` }))
    const encode = (record: ResponseRecord) => encodeWithChecksum(JSON.stringify(record))
    await Promise.all([
      environment.put(LAYOUT_KEY, { kind: 'responses', version: 2 }),
      environment.put('owner', OWNER),
      environment.put('epoch', 'epoch'),
      ...[...listed, ...many].flatMap((record) => [
        records.put(record.identity, encode(record)),
        json('unfinished').put(`${record.state}:${record.due_at ?? record.prepared_at} ${record.identity}`, true),
      ]),
      ...final.flatMap((record) => [
        records.put(record.identity, encode(record)),
        ...(removed.length > 0 ? [] : [json('finished').put(`${record.updated_at} ${record.identity}`, true)]),
      ]),
      json('payment-ids').put('payer id', 'payer/1'),
      json('unrecorded').put('lost', { identity: 'lost', transaction: '0x', found_at: time }),
      json('changes').put(7, { identity: FINAL.identity, at: time }),
      ...removed.map((identity) => json('removed').put(identity, true)),
      ...Object.entries(damaged).flatMap(([identity, bytes]) => [
        records.put(identity, bytes),
        json('unfinished').put(`unknown:${time} ${identity}`, true),
      ]),
    ])
    await environment.close()
  }

  async function expectComplete(opened: LmdbResponseLog, others: readonly string[] = []): Promise<void> {
    for (const record of [...OPEN, FINAL]) expect(await opened.read(record.identity)).to.deep.equal(record)
    expect((await opened.read('none', 'payer id'))?.identity).to.equal('payer/1')
    expect(await opened.unfinished()).to.have.members([...OPEN.map(({ identity }) => identity), ...others])
    expect((await opened.unrecorded()).map(({ identity }) => identity)).to.deep.equal(['lost'])
    expect(await opened.owner()).to.deep.equal({ ...OWNER, receivers: ['0xb'] })
    if (others.length > 0) return
    expect((await opened.newestRecords()).map(({ identity }) => identity)).to.have.members(
      [...OPEN, FINAL].map(({ identity }) => identity),
    )
  }

  it('is refused by a reader, and keeps every record when it is upgraded', async () => {
    await writeVersion2()
    expect(() => new LmdbResponseLog(directory, { readOnly: true })).to.throw(StoreError, NOT_UPGRADED)
    for (const readOnly of [false, true, false]) {
      log = new LmdbResponseLog(directory, { readOnly })
      await expectComplete(log)
      const counts = [...(await log.countUnfinished())].filter(([, count]) => count > 0)
      expect(Object.fromEntries(counts)).to.deep.equal({ prepared: 1, settled: 1, unknown: 1 })
      expect(await log.due({ before: new Date(time), max: 2 })).to.deep.equal(['payer/1', 'payer/2'])
      await log.close()
    }
  })

  it('keeps what a change does not name, and drops what was noted for the state before', async () => {
    const first_denial = { action: 'expired', time: '1', final_block: '1', at: time }
    OPEN[2] = { ...(OPEN[2] as ResponseRecord), reverts: 2, due_at: time, first_denial }
    await writeVersion2()
    log = new LmdbResponseLog(directory)
    const settled = await log.advance(OPEN[2], { state: 'settled', receipt: 'a.b.c', updated_at: time })
    const { due_at: _due, first_denial: _denial, ...rest } = OPEN[2]
    const expected = { ...rest, state: 'settled', receipt: 'a.b.c', updated_at: time }
    OPEN[2] = rest
    expect(settled).to.deep.equal(expected)
    await log.close()
    log = new LmdbResponseLog(directory)
    expect(await log.read('payer/3')).to.deep.equal(expected)
    await log.advance(OPEN[0] as ResponseRecord, { state: 'rejected', updated_at: time })
    await log.advance(OPEN[1] as ResponseRecord, { state: 'confirmed', updated_at: time })
    expect(await log.unfinished()).to.deep.equal(['payer/3'])
    expect(await log.read('none', 'payer id')).to.equal(undefined)
    expect(await log.prune({ before: new Date('2026-01-03'), max: 9 })).to.equal(3)
  })

  it('lists records that were damaged before as unfinished, and never returns them', async () => {
    const lengths = [0, 1, 7, 16, 40]
    const damaged = Object.fromEntries(lengths.map((length) => [`damaged/${length}`, Buffer.alloc(length)]))
    await writeVersion2({ damaged })
    for (const readOnly of [false, true, false]) {
      log = new LmdbResponseLog(directory, { readOnly })
      expect(await log.unfinished()).to.have.members([...OPEN.map(({ identity }) => identity), ...Object.keys(damaged)])
      for (const identity of Object.keys(damaged)) {
        const failure = await log.read(identity).catch((cause: unknown) => cause)
        expect(failure).to.have.property('name', 'CorruptRecordError')
      }
      expect((await log.countUnfinished()).get('unknown')).to.equal(1 + lengths.length)
      expect(await log.read('payer/1')).to.deep.equal(OPEN[0])
      await log.close()
    }
  })

  it('continues an upgrade that was killed after any transaction, and a reader waits for it', async () => {
    await writeVersion2({ count: 1_200 })
    const identities = Array.from({ length: 1_200 }, (_, index) => `many/${index}`)
    for (let kills = 0; ; kills += 1) {
      let left = kills % 4
      const freeBytes = () => (left-- > 0 ? Infinity : 0)
      // A full disk ends it where a kill would.
      const isComplete = (() => {
        try {
          log = new LmdbResponseLog(directory, { freeBytes })
          return true
        } catch (cause) {
          expect(cause).to.be.instanceOf(DiskSpaceError)
          return false
        }
      })()
      if (isComplete) break
      expect(kills).to.be.lessThan(12)
      if (kills > 0 && kills % 4 > 1)
        expect(() => new LmdbResponseLog(directory, { readOnly: true })).to.throw(StoreError, NOT_UPGRADED)
    }
    if (log) await expectComplete(log, identities)
  })

  it('is not upgraded while another process has it open, and then keeps version 2', async () => {
    await writeVersion2()
    const holder = spawn(process.execPath, ['--input-type=module', '-e', HOLD, responsesFolder(directory)], {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      timeout: 60_000,
    })
    await once(holder, 'message')
    const pid = String(holder.pid)
    expect(() => new LmdbResponseLog(directory)).to.throw(StoreError, new RegExp(`^[^\\n]*stop [^\\n]*${pid}[^\\n]*$`))
    holder.disconnect()
    await once(holder, 'exit')
    log = new LmdbResponseLog(directory)
    await expectComplete(log)
  })
})
