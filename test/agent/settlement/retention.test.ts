/** The removal of old records, on a real response log with a scripted clock and chain. */
import { DAY_MS } from '../../../base/day.ts'
import { observationOf } from '../../support/fake-chain.ts'
import { expect } from 'chai'
import { startRetention } from '../../../agent/settlement/retention.ts'
import { LmdbResponseLog } from '../../../store/log/lmdb-responses.ts'
import type { ResponseLog } from '../../../store/log/responses.ts'
import { makeRecord, storeRecord } from '../../support/records.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const LIMIT_MS = 10 * 60 * 1000
const NOW = Date.parse('2026-06-01T00:00:00.000Z')

describe('the retention', () => {
  let log: ResponseLog
  let clock: number
  let chainTime: () => Promise<number>
  let timers: { milliseconds: number; callback: () => void }[]
  let reports: string[]
  const record = makeRecord({ state: 'confirmed', updated_at: new Date(NOW - 31 * DAY_MS).toISOString() })

  beforeEach(async () => {
    log = new LmdbResponseLog(await makeTemporaryDirectory())
    clock = NOW
    chainTime = async () => NOW
    timers = []
    reports = []
    await storeRecord(log, record)
  })
  afterEach(() => log.close())

  const isKept = async () => (await log.read(record.identity)) !== undefined

  function start(): () => Promise<void> {
    return startRetention({
      log,
      chain: { observe: async () => observationOf(new Date(await chainTime()), [], []) },
      days: 30,
      now: () => new Date(clock),
      timer: (callback, milliseconds) => {
        timers.push({ milliseconds, callback })
        return () => undefined
      },
      report: (event) => void reports.push(event),
    })
  }

  /** Waits until the current run has scheduled the next one. */
  async function untilScheduled(count: number): Promise<void> {
    while (timers.length < count) await new Promise(setImmediate)
  }

  for (const [difference, isRemoved] of [
    [0, true],
    [LIMIT_MS, true],
    [-LIMIT_MS, true],
    [LIMIT_MS + 1000, false],
    [-LIMIT_MS - 1000, false],
    [31 * DAY_MS, false],
  ] as const) {
    it(`[5.6.4] ${isRemoved ? 'removes' : 'keeps'} an old record with a clock ${difference / 1000} s ahead`, async () => {
      chainTime = async () => clock - difference
      const stop = start()
      await untilScheduled(1)
      await stop()
      expect(await isKept()).to.equal(!isRemoved)
      expect(reports).to.deep.equal(isRemoved ? [] : ['clock_differs_from_chain'])
    })
  }

  it('[5.6.4] keeps records while the chain cannot be read, and tries again', async () => {
    chainTime = () => Promise.reject(new Error('no node'))
    const stop = start()
    await untilScheduled(1)
    expect([await isKept(), reports]).to.deep.equal([true, ['retention_failed']])
    chainTime = async () => NOW
    timers[0]?.callback()
    await untilScheduled(2)
    await stop()
    expect([timers[0]?.milliseconds, await isKept()]).to.deep.equal([LIMIT_MS, false])
  })

  it('[5.6.4] removes nothing in the run after the clock was set back', async () => {
    const young = makeRecord({
      ...record,
      identity: 'young',
      updated_at: new Date(NOW - 30 * DAY_MS + 1000).toISOString(),
    })
    await storeRecord(log, young)
    const stop = start()
    await untilScheduled(1)
    expect(await log.read('young')).not.to.equal(undefined)
    clock -= 1
    timers[0]?.callback()
    await untilScheduled(2)
    expect(reports).to.deep.equal(['clock_differs_from_chain'])
    clock += 2000
    timers[1]?.callback()
    await untilScheduled(3)
    await stop()
    expect(await log.read('young')).to.equal(undefined)
  })
})
