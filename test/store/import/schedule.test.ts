/** When the dataset is retrieved, by a clock and a timer of the test. */
import { expect } from 'chai'
import { openSchedule, type Schedule } from '../../../store/import/schedule.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

describe('the schedule of retrievals', () => {
  let clock: number
  let elapsed: number
  let timers: { at: number; callback: () => void }[]
  /** When each retrieval began, by the time that has really passed. */
  let began: number[]
  let outcomes: ('success' | 'failure' | 'never')[]
  let failures: unknown[]
  let random: number
  let signals: AbortSignal[]
  let schedule: Schedule

  beforeEach(() => {
    clock = Date.parse('2026-01-01T00:00:00Z')
    elapsed = 0
    timers = []
    began = []
    outcomes = []
    failures = []
    signals = []
    random = 0.5
    schedule = openSchedule({
      retrieve(signal) {
        began.push(elapsed)
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

  /** Lets promises that have settled be heard. */
  const settle = () => new Promise((resolve) => void setImmediate(resolve))
  const begin = () => schedule.retrieve().catch(() => undefined)

  /** Passes time, on the timers and, unless it stands still, on the clock. */
  async function pass(milliseconds: number, { clockRuns = true } = {}): Promise<void> {
    const end = elapsed + milliseconds
    for (;;) {
      const [next] = timers.toSorted((one, other) => one.at - other.at)
      const to = next && next.at <= end ? next.at : end
      if (clockRuns) clock += to - elapsed
      elapsed = to
      if (!next || next.at > end) return
      timers = timers.filter((other) => other !== next)
      next.callback()
      await settle()
    }
  }

  const gaps = () => began.slice(1).map((at, index) => at - (began[index] ?? 0))

  it('is once at the beginning, then daily', async () => {
    await begin()
    await pass(3 * DAY)
    expect(gaps()).to.deep.equal([DAY, DAY, DAY])
    expect(failures).to.deep.equal([])
  })

  it('wavers by a tenth', async () => {
    for (const [drawn, gap] of [
      [0, 0.9 * DAY],
      [0.75, Math.round(1.05 * DAY)],
      [0.999_999_999_999, Math.round(1.1 * DAY)],
    ] as const) {
      random = drawn
      began = []
      await begin()
      await pass(2 * DAY)
      expect(gaps()[0]).to.equal(gap)
    }
  })

  it('comes back 5 minutes after a failure, then ever later, at most 6 hours, until it succeeds', async () => {
    outcomes = Array.from({ length: 9 }, () => 'failure')
    await begin()
    await pass(4 * DAY)
    const minutes = gaps().map((gap) => gap / MINUTE)
    expect(minutes).to.deep.equal([5, 10, 20, 40, 80, 160, 320, 360, 360, 1440, 1440, 1440])
    expect(failures).to.have.lengthOf(8)
  })

  it('begins again at 5 minutes once it has succeeded', async () => {
    outcomes = ['failure', 'failure', 'success', 'failure', 'success']
    await begin()
    await pass(2 * DAY)
    expect(gaps().map((gap) => gap / MINUTE)).to.deep.equal([5, 10, 1440, 5])
  })

  it('hands the failure of a retrieval to whoever asked for it', async () => {
    outcomes = ['failure']
    expect(await schedule.retrieve().catch((error: unknown) => (error as Error).message)).to.equal('no')
    expect(failures).to.deep.equal([])
  })

  it('is one at a time: whoever asks meanwhile joins', async () => {
    outcomes = ['never']
    const one = schedule.retrieve()
    expect(schedule.retrieve()).to.equal(one)
    await pass(10 * DAY)
    expect(began).to.have.lengthOf(1)
  })

  it('plans one retrieval, however many were asked for', async () => {
    await begin()
    await pass(HOUR)
    await begin()
    expect(timers).to.have.lengthOf(1)
    await pass(DAY)
    expect(gaps()).to.deep.equal([HOUR, DAY])
  })

  it('does not wait longer when the clock is set back', async () => {
    await begin()
    await pass(HOUR)
    clock -= 300 * DAY
    await pass(DAY)
    expect(gaps()).to.deep.equal([DAY])
  })

  it('does not wait longer when the clock stands still', async () => {
    await begin()
    await pass(DAY, { clockRuns: false })
    expect(gaps()).to.deep.equal([DAY])
  })

  it('is made up for soon after a machine has slept', async () => {
    await begin()
    await pass(HOUR)
    clock += 2 * DAY
    await pass(HOUR)
    expect(gaps()).to.deep.equal([2 * HOUR])
  })

  it('starts nothing more once stopped', async () => {
    await begin()
    schedule.stop()
    await pass(10 * DAY)
    expect(began).to.have.lengthOf(1)
    expect(timers).to.deep.equal([])
  })

  it('is told of a stop while under way, after which its failure plans nothing', async () => {
    outcomes = ['failure']
    const first = begin()
    schedule.stop()
    await first
    expect(signals[0]?.aborted).to.equal(true)
    expect(timers).to.deep.equal([])
    expect(failures).to.deep.equal([])
  })
})
