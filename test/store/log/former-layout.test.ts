/** The upgrade of a response log of layout version 1, which an earlier version of the service has written. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { open } from 'lmdb'
import { restore } from '../../../store/backup/restore.ts'
import { backUp } from '../../../store/backup/write.ts'
import { DiskSpaceError } from '../../../store/files/disk-space.ts'
import { StoreError } from '../../../store/files/environment.ts'
import { LAYOUT_KEY, responsesFolder } from '../../../store/files/layout.ts'
import { LmdbResponseLog } from '../../../store/log/lmdb-responses.ts'
import { encodeRecord, type ResponseRecord } from '../../../store/log/record.ts'
import { makeRecord } from '../../support/records.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
const time = '2026-01-02T00:00:00.000Z'
const SETTINGS = { overlappingSync: false, noMetaSync: false, encoding: 'json', maxDbs: 8 } as const

/** Holds the environment open, like a service of the version before. */
const HOLD = `import { open } from 'lmdb'
const environment = open({ path: process.argv[1], noSubdir: false, ...${JSON.stringify(SETTINGS)} })
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

describe('a response log of layout version 1', () => {
  let directory: string
  let log: LmdbResponseLog | undefined

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    log = undefined
  })
  afterEach(() => log?.close())

  /** The databases that the version before creates. `damaged` are raw values of records that are not final. */
  async function writeVersion1(damaged: Readonly<Record<string, Buffer>> = {}): Promise<void> {
    const environment = open({ path: responsesFolder(directory), noSubdir: false, ...SETTINGS })
    const binary = (name: string, useVersions: boolean) =>
      environment.openDB<Buffer, string>({ name, encoding: 'binary', useVersions })
    const records = binary('records', false)
    const unfinished = binary('unfinished', true)
    const raw = binary('unfinished', false)
    const json = (name: string) => environment.openDB<unknown, string>({ name, encoding: 'json' })
    json('unrecorded')
    await Promise.all([
      environment.put(LAYOUT_KEY, { kind: 'responses', version: 1 }),
      environment.put('owner', OWNER),
      ...OPEN.map((record, index) => unfinished.put(record.identity, encodeRecord(record), 2 ** 40 + index)),
      records.put(FINAL.identity, encodeRecord(FINAL)),
      json('finished').put(`${FINAL.updated_at} ${FINAL.identity}`, true),
      json('payment-ids').put('payer id', 'payer/1'),
      ...Object.entries(damaged).map(([identity, bytes]) => raw.put(identity, bytes)),
    ])
    await environment.close()
  }

  async function expectComplete(opened: LmdbResponseLog, others: readonly string[] = []): Promise<void> {
    for (const record of [...OPEN, FINAL]) expect(await opened.read(record.identity)).to.deep.equal(record)
    expect((await opened.read('none', 'payer id'))?.identity).to.equal('payer/1')
    expect(await opened.unfinished()).to.have.members([...OPEN.map(({ identity }) => identity), ...others])
    expect(await opened.owner()).to.deep.equal({ ...OWNER, receivers: ['0xb'] })
    if (others.length > 0) return
    expect((await opened.newestRecords()).map(({ identity }) => identity)).to.have.members(
      [...OPEN, FINAL].map(({ identity }) => identity),
    )
  }

  it('is read without a change, and keeps every record when it is upgraded', async () => {
    await writeVersion1()
    let isUpgraded = false
    for (const readOnly of [true, true, false, true, false]) {
      log = new LmdbResponseLog(directory, { readOnly })
      await expectComplete(log)
      const counts = [...(await log.countUnfinished())].filter(([, count]) => count > 0)
      expect(Object.fromEntries(counts)).to.deep.equal(
        readOnly && !isUpgraded ? { unknown: 3 } : { prepared: 1, settled: 1, unknown: 1 },
      )
      isUpgraded ||= !readOnly
      const due = isUpgraded ? ['payer/1', 'payer/2'] : []
      expect(await log.due({ before: new Date(time), max: 2 })).to.deep.equal(due)
      await log.close()
    }
  })

  it('goes on with each record where it was', async () => {
    await writeVersion1()
    log = new LmdbResponseLog(directory)
    const end = async (record: ResponseRecord, state: 'settled' | 'confirmed' | 'rejected') =>
      (await log?.advance(record, { state, updated_at: time }))?.state
    expect(await end(OPEN[0] as ResponseRecord, 'rejected')).to.equal('rejected')
    expect(await end(OPEN[1] as ResponseRecord, 'confirmed')).to.equal('confirmed')
    expect(await end(OPEN[2] as ResponseRecord, 'settled')).to.equal('settled')
    expect(await log.unfinished()).to.deep.equal(['payer/3'])
    expect(await log.read('none', 'payer id')).to.equal(undefined)
    expect(await log.prune({ before: new Date('2026-01-03'), max: 9 })).to.equal(3)
  })

  it('lists records that were damaged before as unfinished, and never returns them', async () => {
    const lengths = [0, 1, 7, 8, 9, 24, 40]
    const damaged = Object.fromEntries(lengths.map((length) => [`damaged/${length}`, Buffer.alloc(length)]))
    await writeVersion1(damaged)
    for (const readOnly of [true, false, false]) {
      log = new LmdbResponseLog(directory, { readOnly })
      expect(await log.unfinished()).to.have.members([...OPEN.map(({ identity }) => identity), ...Object.keys(damaged)])
      for (const identity of Object.keys(damaged)) {
        const failure = await log.read(identity).catch((cause: unknown) => cause)
        expect(failure).to.have.property('name', 'CorruptRecordError')
      }
      const counted = readOnly ? OPEN.length : 1
      expect((await log.countUnfinished()).get('unknown')).to.equal(counted + lengths.length)
      expect(await log.read('payer/1')).to.deep.equal(OPEN[0])
      await log.close()
    }
  })

  it('is upgraded after a restore, with many open payments', async () => {
    await writeVersion1()
    const environment = open({ path: responsesFolder(directory), noSubdir: false, ...SETTINGS })
    const unfinished = environment.openDB<Buffer, string>({ name: 'unfinished', encoding: 'binary', useVersions: true })
    // A killed upgrade has left it.
    environment.openDB({ name: 'changes', encoding: 'json' })
    const identities = Array.from({ length: 500 }, (_, index) => `many/${index}`)
    const put = (identity: string) =>
      unfinished.put(identity, encodeRecord(makeRecord({ identity, body: 'x'.repeat(9_000) })), 2 ** 40)
    await Promise.all(identities.map(put))
    await environment.close()
    const [folder, target] = [join(directory, 'backup'), join(directory, 'target')]
    const keysDirectory = join(target, 'keys')
    await backUp({ dataDirectory: directory, keysDirectory, folder, now: () => new Date(time) })
    expect(await restore({ dataDirectory: target, keysDirectory, folder })).to.include({ records: 504, damaged: 0 })
    // LMDB would end the process if the upgrade were the first transaction after the compact copy.
    log = new LmdbResponseLog(target)
    await expectComplete(log, identities)
  })

  it('is not upgraded while another process has it open, and then keeps version 1', async () => {
    await writeVersion1()
    const holder = spawn(process.execPath, ['--input-type=module', '-e', HOLD, responsesFolder(directory)], {
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      timeout: 60_000,
    })
    await once(holder, 'message')
    const pid = String(holder.pid)
    expect(() => new LmdbResponseLog(directory)).to.throw(StoreError, new RegExp(`^[^\\n]*stop [^\\n]*${pid}[^\\n]*$`))
    log = new LmdbResponseLog(directory, { readOnly: true })
    await expectComplete(log)
    await log.close()
    holder.disconnect()
    await once(holder, 'exit')
    log = new LmdbResponseLog(directory)
    await expectComplete(log)
  })

  it('is not upgraded on a disk that is nearly full', async () => {
    await writeVersion1()
    expect(() => new LmdbResponseLog(directory, { freeBytes: () => 0 })).to.throw(DiskSpaceError)
    log = new LmdbResponseLog(directory, { readOnly: true })
    await expectComplete(log)
  })
})
