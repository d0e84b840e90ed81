/**
 * Removes final records, and listed payments without a record, after the published retention period: at start and
 * daily, in bounded batches. Removes nothing while the local clock is wrong, because a paid answer could be lost.
 */
import type { ResponseLog } from '../../store/log/responses.ts'
import { pruneUnrecorded } from '../../store/log/unrecorded.ts'
import type { Report, Timer } from '../../base/runtime.ts'
import type { Chain } from './chain/chain.ts'
import { isFarOff } from './chain/clock.ts'
import { DAY_MS } from '../../base/day.ts'

/** For one write transaction. Small, because sales cannot write to the log meanwhile. */
const BATCH_RECORDS = 200
/** Between two batches, so that sales can write to the log. */
const PAUSE_MS = 20

/** After a wrong clock, or a chain that cannot be read. */
const RETRY_MS = 10 * 60 * 1000

interface RetentionOptions {
  log: ResponseLog
  chain: Pick<Chain, 'observe'>
  days: number
  now: () => Date
  timer: Timer
  report: Report
}

/** @returns a function that stops the removal and waits for the current batch */
export function startRetention({ log, chain, days, now, timer, report }: RetentionOptions): () => Promise<void> {
  let isStopped = false
  let cancel = (): void => undefined
  let latest = 0

  /** Whether the local clock agrees with the chain and has not been set back. */
  async function isClockRight(): Promise<boolean> {
    const { time } = await chain.observe([])
    const clock = now()
    const isSetBack = clock.getTime() < latest
    latest = clock.getTime()
    return !isSetBack && !isFarOff(time, clock)
  }

  /** Returns the time until the next batch. */
  async function removeBatch(): Promise<number> {
    if (!(await isClockRight())) {
      report('clock_differs_from_chain', 'nothing is removed')
      return RETRY_MS
    }
    const before = new Date(now().getTime() - days * DAY_MS)
    await pruneUnrecorded(log, before)
    const count = await log.prune({ before, max: BATCH_RECORDS })
    return count > 0 ? PAUSE_MS : DAY_MS
  }

  async function run(): Promise<void> {
    const milliseconds = await removeBatch().catch((cause: unknown) => {
      report('retention_failed', cause)
      return RETRY_MS
    })
    if (!isStopped) cancel = timer(() => void (currentRun = run()), milliseconds)
  }

  let currentRun = run()
  return async () => {
    isStopped = true
    cancel()
    await currentRun
  }
}
