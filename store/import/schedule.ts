/**
 * Schedules the retrievals of the dataset: at once, then daily; after a failure with exponential backoff. A wait ends
 * by the timer or by the clock, whichever is first: timers stand still while the machine sleeps, and a clock can be set
 * back.
 */
import { DAY_MS, HOUR_MS } from '../../base/day.ts'
import type { Timer } from '../../base/runtime.ts'

const MINUTE_MS = 60_000

/** The register is published daily. */
const RETRIEVE_EVERY_MS = DAY_MS
/** Spreads the requests of several services over time. */
const JITTER_SHARE = 0.1
/** A portal that is restarted is back after a few minutes. A service without a dataset sells nothing meanwhile. */
const RETRY_FIRST_MS = MINUTE_MS
/** Allows more than twelve retries before the dataset is stale. */
const RETRY_MAX_MS = 6 * HOUR_MS
const CLOCK_CHECK_EVERY_MS = HOUR_MS

interface ScheduleOptions {
  /** The signal is aborted when the schedule stops. */
  retrieve: (signal: AbortSignal) => Promise<unknown>
  now: () => Date
  /** Returns a number from 0 to below 1. */
  random: () => number
  timer: Timer
  /** Called for each failed retrieval but the first one. */
  onFailure: (cause: unknown) => void
}

/** `first` settles with the first retrieval. `stop` aborts the running retrieval and resolves when it has ended. */
export function startSchedule({ retrieve, now, random, timer, onFailure }: ScheduleOptions) {
  const stopping = new AbortController()
  let failures = 0
  let pendingSince: Date | undefined
  let cancel = (): void => undefined

  async function run(): Promise<void> {
    pendingSince ??= now()
    try {
      await retrieve(stopping.signal)
      failures = 0
      pendingSince = undefined
    } catch (cause) {
      failures += 1
      throw cause
    } finally {
      if (!stopping.signal.aborted) wait(delayAfter(failures, random()))
    }
  }

  function wait(milliseconds: number): void {
    const dueAt = now().getTime() + milliseconds
    const sleep = (left: number): void => {
      const sleepMs = Math.min(left, CLOCK_CHECK_EVERY_MS)
      cancel = timer(() => {
        const rest = Math.min(left - sleepMs, dueAt - now().getTime())
        if (rest > 0) return sleep(rest)
        running = run()
        running.catch(onFailure)
      }, sleepMs)
    }
    sleep(milliseconds)
  }

  const first = run()
  let running = first
  return {
    first,
    /** When the first retrieval since the last success began. Undefined after a success. */
    pendingSince: () => pendingSince,
    /** Whether the last retrieval that has ended has failed. */
    hasFailed: () => failures > 0,
    async stop(): Promise<void> {
      stopping.abort()
      cancel()
      await running.catch(() => undefined)
    },
  }
}

function delayAfter(failures: number, random: number): number {
  const delay = failures === 0 ? RETRIEVE_EVERY_MS : Math.min(RETRY_FIRST_MS * 2 ** (failures - 1), RETRY_MAX_MS)
  return Math.round(delay * (1 + JITTER_SHARE * (2 * random - 1)))
}
