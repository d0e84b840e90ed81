/** Whether another process is still settling a payment, by the lease in its record, with a manual clock. */
import { expect } from 'chai'
import { NEW_LEASE, RecentAttempts } from '../../../agent/settlement/recent-attempts.ts'
import { LmdbResponseLog } from '../../../store/log/lmdb-responses.ts'
import type { RecordChange, ResponseRecord } from '../../../store/log/record.ts'
import { makeRecord } from '../../support/records.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { manualTimer } from '../../support/timers.ts'

const SILENT_SECONDS = 10
/** The last renewal is 63 seconds after the start. */
const LIMIT_SECONDS = 63 + SILENT_SECONDS
const RENEW_SECONDS = 3

const never = () => new Promise<never>(() => undefined)

describe('[5.6.2] a settlement of another process', () => {
  let log: LmdbResponseLog
  let seconds: number
  let renewals: ReturnType<typeof manualTimer>
  let record: ResponseRecord

  beforeEach(async () => {
    log = new LmdbResponseLog(await makeTemporaryDirectory())
    seconds = 0
    renewals = manualTimer()
    record = makeRecord({ state: 'prepared', lease: NEW_LEASE })
    await log.claim(record)
  })
  afterEach(() => log.close())

  const open = (advance: typeof log.advance = (from, change) => log.advance(from, change)) =>
    new RecentAttempts({ log: { advance }, timer: renewals.timer, monotonic: () => seconds * 1_000 })
  const stored = async () => (await log.read(record.identity))!

  /** The last second in which a reader that looks each second sees it in progress. */
  async function lastSeen(reader: RecentAttempts) {
    for (seconds = 0; seconds < 100; seconds += 1) {
      if (seconds % RENEW_SECONDS === 0 && seconds > 0) renewals.pass()
      await new Promise(setImmediate)
      await log.checkWritable()
      if (!reader.isInProgress(await stored())) break
    }
    return seconds - 1
  }

  it('is abandoned 10 seconds after a reader has first seen its lease', async () => {
    expect(await lastSeen(open())).to.equal(SILENT_SECONDS - 1)
  })

  for (const [when, isWritten] of [
    ['before its renewal is in the log', false],
    ['after its renewal is in the log', true],
  ] as const) {
    it(`is abandoned 10 seconds after the last renewal if the process dies ${when}`, async () => {
      const advance = async (from: ResponseRecord, change: RecordChange) => {
        if (isWritten) await log.advance(from, change)
        return never()
      }
      void open(advance).run(record, never)
      expect(await lastSeen(open())).to.equal((isWritten ? RENEW_SECONDS : 0) + SILENT_SECONDS - 1)
    })
  }

  it('is in progress while it renews its lease, at most for the time limit of a call and 10 seconds', async () => {
    void open().run(record, never)
    expect(await lastSeen(open())).to.equal(LIMIT_SECONDS - 1)
    expect(renewals.times()).to.deep.equal([])
  })

  it('renews its lease also after a renewal that could not be written', async () => {
    let writes = 0
    const advance = (from: ResponseRecord, change: RecordChange) =>
      ++writes === 2 ? Promise.reject(new Error('the disk is full')) : log.advance(from, change)
    void open(advance).run(record, never)
    expect(await lastSeen(open())).to.equal(LIMIT_SECONDS - 1)
  })

  it('writes no renewal if it ends within 3 seconds, and none after its end', async () => {
    let end = (): void => undefined
    const work = open().run(record, () => new Promise<void>((resolve) => (end = resolve)))
    expect(renewals.times()).to.deep.equal([RENEW_SECONDS * 1_000])
    end()
    await work
    renewals.pass()
    await log.checkWritable()
    expect(await stored()).to.deep.equal(record)
  })

  it('keeps the due time that another process writes, and the lease ends when the state changes', async () => {
    const { state, updated_at } = record
    await log.advance(record, { state, updated_at, due_at: '2026-01-01T00:15:00.000Z' })
    void open().run(record, never)
    renewals.pass()
    await log.checkWritable()
    expect(await stored()).to.deep.include({ lease: { ...NEW_LEASE, renewals: 1 }, due_at: '2026-01-01T00:15:00.000Z' })
    await log.advance(await stored(), { state: 'unknown', updated_at })
    expect(await stored()).not.to.have.any.keys('lease', 'due_at')
    renewals.pass()
    await log.checkWritable()
    expect((await stored()).state).to.equal('unknown')
  })

  it('of this process is in progress while it runs, and not after its end', async () => {
    const own = open()
    await own.run(record, async () => {
      seconds += 2 * SILENT_SECONDS
      expect(own.isInProgress(record)).to.equal(true)
    })
    expect(own.isInProgress(record)).to.equal(false)
    expect(own.isInProgress({ ...record, attempt: 2 })).to.equal(true)
  })

  for (const state of ['unknown', 'settled', 'refused', 'confirmed', 'rejected', 'expired'] as const)
    it(`is over if its record is ${state}`, () => {
      expect(open().isInProgress({ ...record, state })).to.equal(false)
    })
})
