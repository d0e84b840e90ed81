/**
 * Schedules the retrievals of the dataset: at start, then daily; after a failure with exponential backoff.
 *
 * A wait ends when the clock or the timer reaches its end, whichever comes first. With the clock alone, a clock that is set
 * back could delay a retrieval for months. With timers alone, time during which the machine sleeps would not count.
 */
import type { Timer } from '../base/runtime.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The register is published daily. */
const RETRIEVE_EVERY_MS = 24 * HOUR_MS
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
  /** Called for each failed retrieval that the schedule started itself. */
  onFailure: (cause: unknown) => void
}

export interface Schedule {
  /** Starts a retrieval, or joins the running one, and plans the next. Rejects if the retrieval fails. */
  retrieve(): Promise<void>
  /** Cancels the next retrieval, aborts the running one, and resolves when that has ended. */
  stop(): Promise<void>
}

export function openSchedule({ retrieve, now, random, timer, onFailure }: ScheduleOptions): Schedule {
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let failures = 0
  let cancel = (): void => undefined

  async function run(): Promise<void> {
    try {
      await retrieve(stopping.signal)
      failures = 0
    } catch (cause) {
      failures += 1
      throw cause
    } finally {
      running = undefined
      wait(withJitter(failures === 0 ? RETRIEVE_EVERY_MS : retryDelay(failures), random()))
    }
  }

  function retrieveNow(): Promise<void> {
    cancel()
    running ??= run()
    return running
  }

  function wait(milliseconds: number): void {
    const dueAt = now().getTime() + milliseconds
    let timerLeft = milliseconds
    function check(): void {
      const left = Math.min(timerLeft, dueAt - now().getTime())
      if (left <= 0) {
        retrieveNow().catch((cause: unknown) => {
          if (!stopping.signal.aborted) onFailure(cause)
        })
        return
      }
      sleep(left)
    }
    function sleep(left: number): void {
      const step = Math.min(left, CLOCK_CHECK_EVERY_MS)
      timerLeft -= step
      cancel = timer(check, step)
    }
    if (!stopping.signal.aborted) sleep(milliseconds)
  }

  return {
    retrieve: retrieveNow,
    async stop() {
      stopping.abort()
      cancel()
      await running?.catch(() => undefined)
    },
  }
}

function retryDelay(failures: number): number {
  return Math.min(RETRY_FIRST_MS * 2 ** (failures - 1), RETRY_MAX_MS)
}

function withJitter(milliseconds: number, random: number): number {
  return Math.round(milliseconds * (1 + JITTER_SHARE * (2 * random - 1)))
}
