/** Tests of the schedule of retrievals with a fake clock and fake timers. */
import { expect } from 'chai'
import { openSchedule, type Schedule } from '../../../store/import/schedule.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

describe('the schedule of retrievals', () => {
  let clock: number
  let elapsed: number
  let timers: { at: number; callback: () => void }[]
  /** The start of each retrieval, in elapsed milliseconds. */
  let startTimes: number[]
  let outcomes: ('success' | 'failure' | 'never')[]
  let failures: unknown[]
  let random: number
  let signals: AbortSignal[]
  let schedule: Schedule

  beforeEach(() => {
    clock = Date.parse('2026-01-01T00:00:00Z')
    elapsed = 0
    timers = []
    startTimes = []
    outcomes = []
    failures = []
    signals = []
    random = 0.5
    schedule = openSchedule({
      retrieve(signal) {
        startTimes.push(elapsed)
        signals.push(signal)
        const outcome = outcomes.shift() ?? 'success'
        if (outcome === 'never') return new Promise(() => undefined)
        return outcome === 'success' ? Promise.resolve() : Promise.reject(new Error('no'))
      },
      now: () => new Date(clock),
      random: () => random,
      timer(callback, milliseconds) {
        const entry = { at: elapsed + milliseconds, callback }
        timers.push(entry)
        return () => void (timers = timers.filter((other) => other !== entry))
      },
      onFailure: (cause) => void failures.push(cause),
    })
  })

  /** Runs the callbacks of settled promises. */
  const runCallbacks = () => new Promise((resolve) => void setImmediate(resolve))
  const startRetrieval = () => schedule.retrieve().catch(() => undefined)

  /** Lets time pass on the timers and, with `clockRuns`, on the clock. */
  async function passTime(milliseconds: number, { clockRuns = true } = {}): Promise<void> {
    const end = elapsed + milliseconds
    for (;;) {
      const [next] = timers.toSorted((one, other) => one.at - other.at)
      const to = next && next.at <= end ? next.at : end
      if (clockRuns) clock += to - elapsed
      elapsed = to
      if (!next || next.at > end) return
      timers = timers.filter((other) => other !== next)
      next.callback()
      await runCallbacks()
    }
  }

  const gaps = () => startTimes.slice(1).map((at, index) => at - (startTimes[index] ?? 0))

  it('[11.1] retrieves at start, then daily', async () => {
    await startRetrieval()
    await passTime(3 * DAY)
    expect(gaps()).to.deep.equal([DAY, DAY, DAY])
    expect(failures).to.deep.equal([])
  })

  it('varies the interval by up to a tenth', async () => {
    for (const [drawn, gap] of [
      [0, 0.9 * DAY],
      [0.75, Math.round(1.05 * DAY)],
      [0.999_999_999_999, Math.round(1.1 * DAY)],
    ] as const) {
      random = drawn
      startTimes = []
      await startRetrieval()
      await passTime(2 * DAY)
      expect(gaps()[0]).to.equal(gap)
    }
  })

  it('retries after a minute, then after twice the delay, at most 6 hours, and after a minute again after a success', async () => {
    outcomes = [...Array.from({ length: 9 }, () => 'failure' as const), 'success', 'failure', 'success']
    await startRetrieval()
    await passTime(4 * DAY)
    const minutes = gaps().map((gap) => gap / MINUTE)
    expect(minutes).to.deep.equal([1, 2, 4, 8, 16, 32, 64, 128, 256, 1440, 1, 1440, 1440])
    expect(failures).to.have.lengthOf(9)
  })

  it('rejects a requested retrieval with its failure', async () => {
    outcomes = ['failure']
    expect(await schedule.retrieve().catch((error: unknown) => (error as Error).message)).to.equal('no')
    expect(failures).to.deep.equal([])
  })

  it('joins a running retrieval instead of starting a second one', async () => {
    outcomes = ['never']
    const one = schedule.retrieve()
    expect(schedule.retrieve()).to.equal(one)
    await passTime(10 * DAY)
    expect(startTimes).to.have.lengthOf(1)
  })

  it('plans one retrieval after several requests', async () => {
    await startRetrieval()
    await passTime(HOUR)
    await startRetrieval()
    expect(timers).to.have.lengthOf(1)
    await passTime(DAY)
    expect(gaps()).to.deep.equal([HOUR, DAY])
  })

  it('does not wait longer if the clock is set back or stands still', async () => {
    await startRetrieval()
    await passTime(HOUR)
    clock -= 300 * DAY
    await passTime(DAY)
    await passTime(DAY, { clockRuns: false })
    expect(gaps()).to.deep.equal([DAY, DAY])
  })

  it('retrieves within an hour after the machine has slept past the due time', async () => {
    await startRetrieval()
    await passTime(HOUR)
    clock += 2 * DAY
    await passTime(HOUR)
    expect(gaps()).to.deep.equal([2 * HOUR])
  })

  it('starts no retrieval after a stop', async () => {
    await startRetrieval()
    await schedule.stop()
    await passTime(10 * DAY)
    expect(startTimes).to.have.lengthOf(1)
    expect(timers).to.deep.equal([])
  })

  it('aborts the running retrieval at a stop and plans no retry', async () => {
    outcomes = ['failure']
    let hasEnded = false
    const first = startRetrieval().then(() => (hasEnded = true))
    await schedule.stop()
    expect(hasEnded).to.equal(true)
    await first
    expect(signals[0]?.aborted).to.equal(true)
    expect(timers).to.deep.equal([])
    expect(failures).to.deep.equal([])
  })
})
