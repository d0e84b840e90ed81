/** Tests of the schedule of retrievals with fake timers. */
import { expect } from 'chai'
import { startSchedule } from '../../../store/import/schedule.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * 60 * MINUTE

describe('the schedule of retrievals', () => {
  let waits: { milliseconds: number; callback: () => void }[]
  let clock: number
  let failures: unknown[]
  let signals: AbortSignal[]

  beforeEach(() => {
    waits = []
    clock = Date.UTC(2026, 0, 1)
    failures = []
    signals = []
  })

  const start = (outcomes: ('success' | 'failure' | 'never')[], random = 0.5) =>
    startSchedule({
      retrieve(signal) {
        signals.push(signal)
        const outcome = outcomes.shift() ?? 'success'
        if (outcome === 'never')
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
        return outcome === 'success' ? Promise.resolve() : Promise.reject(new Error('no'))
      },
      now: () => new Date(clock),
      random: () => random,
      timer(callback, milliseconds) {
        const wait = { milliseconds, callback }
        waits.push(wait)
        return () => void waits.splice(waits.indexOf(wait), 1)
      },
      onFailure: (cause) => void failures.push(cause),
    })

  /** Ends waits until the next retrieval begins, and returns the time of the timers. The clock may stand still. */
  async function passWait({ clockRuns = true } = {}): Promise<number> {
    const retrievals = signals.length
    let passed = 0
    while (signals.length === retrievals) {
      expect(waits).to.have.lengthOf(1)
      const [{ milliseconds, callback } = { milliseconds: 0, callback: () => undefined }] = waits.splice(0)
      passed += milliseconds
      if (clockRuns) clock += milliseconds
      callback()
    }
    await new Promise((resolve) => void setImmediate(resolve))
    return passed
  }

  it('[11.1] retrieves at start, then daily', async () => {
    await start([]).first
    expect([await passWait(), await passWait()]).to.deep.equal([DAY, DAY])
    expect(signals).to.have.lengthOf(3)
    expect(failures).to.deep.equal([])
  })

  it('varies the interval by up to a tenth', async () => {
    await start([], 0).first
    expect(await passWait()).to.equal(0.9 * DAY)
    waits = []
    await start([], 0.999_999_999_999).first
    expect(await passWait()).to.equal(Math.round(1.1 * DAY))
  })

  it('retries after a minute, then after twice the delay, at most 6 hours, and after a minute again after a success', async () => {
    const tenth = ['success', 'failure', 'success'] as const
    const schedule = start([...Array.from({ length: 10 }, () => 'failure' as const), ...tenth])
    expect(await schedule.first.catch((error: unknown) => (error as Error).message)).to.equal('no')
    const minutes = []
    for (let count = 0; count < 13; count += 1) minutes.push((await passWait()) / MINUTE)
    expect(minutes).to.deep.equal([1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 1440, 1, 1440])
    expect(failures).to.have.lengthOf(10)
  })

  it('tells since when a retrieval hangs or fails', async () => {
    const schedule = start(['success', 'failure', 'failure', 'success', 'never'])
    await schedule.first
    expect(schedule.pendingSince()).to.equal(undefined)
    await passWait()
    const since = new Date(clock)
    expect(schedule.pendingSince()).to.deep.equal(since)
    await passWait()
    expect(schedule.pendingSince()).to.deep.equal(since)
    await passWait()
    expect(schedule.pendingSince()).to.equal(undefined)
    await passWait()
    expect(schedule.pendingSince()).to.deep.equal(new Date(clock))
  })

  it('does not wait longer if the clock is set back or stands still', async () => {
    await start([]).first
    clock -= 300 * DAY
    expect([await passWait(), await passWait({ clockRuns: false })]).to.deep.equal([DAY, DAY])
  })

  it('retrieves within an hour after the machine has slept past the due time', async () => {
    await start([]).first
    clock += 2 * DAY
    expect(await passWait()).to.equal(HOUR)
  })

  it('aborts the running retrieval at a stop and plans no retry', async () => {
    const schedule = start(['never'])
    const first = schedule.first.catch((error: unknown) => (error as Error).message)
    await schedule.stop()
    expect(await first).to.equal('stopped')
    expect(signals[0]?.aborted).to.equal(true)
    expect(waits).to.deep.equal([])
  })
})
