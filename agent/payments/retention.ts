/** Removes what ended longer ago than the published retention: at start and daily, a bounded number of records at a time. */
import type { ResponseLog } from '../../store/responses.ts'
import type { Timer } from './facilitator.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** In one write transaction, during which no sale can be recorded. */
const BATCH = 200
/** In one run: more than a day's sales at ten times the rate limit of spec 8. */
const RUN_MAX = 2_000_000
/** Between two batches, so that sales get their turn at the log. */
const PAUSE_MS = 20

export interface Retention {
  log: ResponseLog
  days: number
  now: () => Date
  timer: Timer
  report: (event: string, cause: unknown) => void
}

/** @returns what ends it; a batch under way is then finished first */
export function openRetention({ log, days, now, timer, report }: Retention): () => Promise<void> {
  const stopping = new AbortController()
  let underWay: Promise<void> = Promise.resolve()
  let cancel = (): void => undefined

  async function batch(removed: number): Promise<void> {
    let wait = DAY_MS
    try {
      const found = await log.prune({ before: new Date(now().getTime() - days * DAY_MS), max: BATCH })
      if (found > 0 && removed + found < RUN_MAX) wait = PAUSE_MS
      plan(wait, wait === PAUSE_MS ? removed + found : 0)
    } catch (cause) {
      report('retention_failed', cause)
      plan(wait, 0)
    }
  }

  function plan(wait: number, removed: number): void {
    if (stopping.signal.aborted) return
    cancel = timer(() => {
      underWay = batch(removed)
    }, wait)
  }

  underWay = batch(0)
  return async () => {
    stopping.abort()
    cancel()
    await underWay
  }
}
