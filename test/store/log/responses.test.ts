/**
 * The response log on real LMDB, beyond what response-log.test.ts checks for every log: files, corrupt data, caches.
 */
import { cp, readFile, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { asBinary, open } from 'lmdb'
import { LAYOUT_KEY, LAYOUT_VERSION, responsesFolder } from '../../../store/files/layout.ts'
import { StoreError } from '../../../store/files/environment.ts'
import { digestOf } from '../../../store/log/ranges.ts'
import { encodeProgress, encodeRecord } from '../../../store/log/record.ts'
import type { RecordState } from '../../../store/log/states.ts'
import { LmdbResponseLog } from '../../../store/log/lmdb-responses.ts'
import type { ResponseLog } from '../../../store/log/responses.ts'
import { damage, openLogRanges } from '../../support/log-ranges.ts'
import { openIdentities, makeRecord, storeRecord } from '../../support/records.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const updated_at = '2026-01-02T00:00:00.000Z'

function flipped(bytes: Buffer): Buffer {
  const at = bytes.length - 20
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  return bytes
}

/**
 * lmdb reuses a read transaction until a timer of 1 ms fires, so an earlier read would hide a write of another
 * environment.
 */
const endReadTransactions = () => setTimeout(2)

/** The name of the error that a promise rejects with. */
const errorName = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    (error: unknown) => (error as Error).name,
  )

describe('the response log', () => {
  let directory: string
  let log: ResponseLog

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    log = new LmdbResponseLog(directory)
  })

  afterEach(() => log.close())

  const reopen = async () => {
    await log.close()
    log = new LmdbResponseLog(directory)
  }

  it('[5.6.4] removes the payment id of an old record too, unless another payment has it now', async () => {
    const prune = (before: string) => log.prune({ before: new Date(before), max: 10 })
    const id = { payment_id: 'payer id' }
    await storeRecord(log, makeRecord({ state: 'rejected', identity: 'i0', updated_at, ...id }))
    await storeRecord(log, makeRecord({ state: 'confirmed', identity: 'i1', updated_at: '2026-01-11', ...id }))
    expect(await prune('2026-01-10')).to.equal(1)
    expect((await log.read('another', 'payer id'))?.identity).to.equal('i1')
    expect(await prune('2026-01-20')).to.equal(1)
    await using ranges = openLogRanges(directory)
    for (const range of [ranges.identities, ranges.records, ranges.progress, ranges.finished, ranges.paymentIds])
      expect([...range.keys()]).to.deep.equal([])
  })

  it('detects that the newest pages are missing, with pages of another size', async () => {
    await log.close()
    const folder = responsesFolder(directory)
    await rm(folder, { recursive: true })
    const settings = { path: folder, noSubdir: false, overlappingSync: false, pageSize: 8192, maxDbs: 8 }
    const environment = open({ ...settings, encoding: 'json' })
    await environment.put(LAYOUT_KEY, { kind: 'responses', version: LAYOUT_VERSION.responses })
    await environment.close()
    log = new LmdbResponseLog(directory)
    const file = join(folder, 'data.mdb')
    expect((await readFile(file)).readUInt32LE(48)).to.equal(8192)
    // LMDB writes its two meta pages alternately.
    for (const metaPage of [1, 2]) {
      const record = makeRecord({ identity: `i${metaPage}`, body: 'x'.repeat(4_000_000) })
      await log.claim(record)
      await reopen()
      expect(await log.read(record.identity)).to.deep.equal(record)
      const copy = join(directory, `copy-${metaPage}`)
      await cp(folder, responsesFolder(copy), { recursive: true })
      const copied = join(responsesFolder(copy), 'data.mdb')
      await truncate(copied, (await stat(copied)).size - 2_000_000)
      expect(() => new LmdbResponseLog(copy)).to.throw(StoreError, /truncated/)
    }
  })

  const otherRecord = () => encodeRecord(makeRecord({ identity: 'payer/2' }))
  type Corruption = [what: string, state: RecordState, change: (bytes: Buffer) => Buffer, part?: 'progress']
  const CORRUPTIONS: Corruption[] = [
    ['a flipped bit while it is unfinished', 'prepared', flipped],
    ['a flipped bit while it is final', 'confirmed', flipped],
    ['a flipped bit in its progress', 'confirmed', flipped, 'progress'],
    ['the bytes of another identity', 'prepared', otherRecord],
    [
      'the progress of another identity',
      'confirmed',
      () => encodeProgress(makeRecord({ identity: 'payer/2' })),
      'progress',
    ],
    ...[0, 1, 15, 16, 17].map((length): Corruption => [`only ${length} bytes`, 'prepared', () => Buffer.alloc(length)]),
  ]
  for (const [what, state, change, part] of CORRUPTIONS) {
    it(`never returns a record with ${what}, nor counts it as paid`, async () => {
      const record = makeRecord({ identity: 'payer/1', state })
      await storeRecord(log, record)
      expect(await log.read('payer/1')).to.deep.equal(record)
      await using ranges = openLogRanges(directory)
      damage(ranges, 'payer/1', change, part)
      await endReadTransactions()
      // The checksum in the bytes tells the log that a record in memory is the stored one.
      const isInMemory = part === undefined && change === flipped
      if (!isInMemory) expect(await errorName(log.read('payer/1'))).to.equal('CorruptRecordError')
      await reopen()
      await errorName(log.advance(record, { state: 'settled', updated_at }))
      expect(await errorName(log.read('payer/1'))).to.equal('CorruptRecordError')
    })
  }

  it('keeps a damaged record, for the operator, when it removes old ones that it has in memory', async () => {
    await storeRecord(log, makeRecord({ identity: 'payer/1', state: 'confirmed' }))
    await using ranges = openLogRanges(directory)
    damage(ranges, 'payer/1', flipped)
    await endReadTransactions()
    expect(await log.prune({ before: new Date(Date.now() + 1_000_000_000_000), max: 10 })).to.equal(0)
  })

  it('advances what is on disk, also if it read an older value of the same version before', async () => {
    const record = makeRecord({})
    await log.claim(record)
    const settled = { ...record, state: 'settled' } as const
    await log.advance(record, { state: 'settled', payment_response: 'first', updated_at })
    await using ranges = openLogRanges(directory)
    await endReadTransactions()
    // In one turn of the event loop, so this log still reads the old record: another one replaces it.
    const before = log.read(record.identity)
    damage(ranges, record.identity, () => encodeProgress({ ...settled, payment_response: 'second' }), 'progress')
    const [seen, step] = [log.read(record.identity), log.advance(settled, { state: 'confirmed', updated_at })]
    expect([(await before)?.payment_response, (await seen)?.payment_response]).to.deep.equal(['first', 'first'])
    expect(await step).to.deep.equal({ ...settled, state: 'confirmed', payment_response: 'second', updated_at })
  })

  for (const [what, key] of [
    ['points to a record that does not exist', '"missing"'],
    ['cannot be read', '{'],
  ] as const) {
    it(`rejects a claim whose payment id ${what}`, async () => {
      await using ranges = openLogRanges(directory)
      const id = digestOf('id')
      ranges.environment.transactionSync(() => ranges.paymentIds.put(id, asBinary(Buffer.from(key))))
      await reopen()
      const claim = log.claim(makeRecord({ payment_id: 'id' }))
      expect(await errorName(claim)).to.equal('CorruptRecordError')
      expect(await openIdentities(log)).to.deep.equal([])
    })
  }

  it('reads what another log has written since its own last read or write', async () => {
    // LMDB reads new data only after the current turn of the event loop.
    const readState = (from: ResponseLog) => endReadTransactions().then(async () => (await from.read('i'))?.state)
    const [other, reader] = [new LmdbResponseLog(directory), new LmdbResponseLog(directory, { readOnly: true })]
    const record = makeRecord({ identity: 'i' })
    await log.claim(record)
    expect([await readState(log), await readState(reader)]).to.deep.equal(['prepared', 'prepared'])
    await other.advance(record, { state: 'unknown', updated_at })
    expect([await readState(log), await readState(reader)]).to.deep.equal(['unknown', 'unknown'])
    await log.advance({ ...record, state: 'unknown' }, { state: 'settled', updated_at })
    expect([await readState(other), await readState(reader)]).to.deep.equal(['settled', 'settled'])
    for (const each of [other, reader]) await each.close()
  })
})
