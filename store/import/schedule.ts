/**
 * When the dataset is retrieved: at once, then every day; after a failure soon, then ever less often.
 *
 * A wait ends by the clock or by the timer, whichever is first. The clock alone would wait for months when it is set
 * back, and the timer alone stands still while a machine sleeps.
 */

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The register is published daily (spec 1). */
const CHECK_EVERY_MS = 24 * HOUR_MS
/** So that not all who read a portal come at once. */
const JITTER_SHARE = 0.1
const RETRY_FIRST_MS = 5 * MINUTE_MS
/** Twelve tries and more before what is served is stale. */
const RETRY_MAX_MS = 6 * HOUR_MS
/** How often a wait looks at the clock. */
const LOOK_EVERY_MS = HOUR_MS

/** Calls back once after so many milliseconds; the result cancels that. */
export type Timer = (callback: () => void, milliseconds: number) => () => void

export interface ScheduleRequest {
  /** The work. Its signal is aborted by a stop. */
  retrieve: (signal: AbortSignal) => Promise<unknown>
  now: () => Date
  /** From 0 to below 1. */
  random: () => number
  timer: Timer
  /** Told of each failure of a retrieval that the schedule itself began. */
  onFailure: (cause: unknown) => void
}

export interface Schedule {
  /** Retrieves now, or joins the retrieval under way; the next one is planned when it ends. Fails as it fails. */
  retrieve(): Promise<void>
  /** Waits for nothing and starts nothing more. */
  stop(): void
}

export function openSchedule({ retrieve, now, random, timer, onFailure }: ScheduleRequest): Schedule {
  const stopping = new AbortController()
  let underWay: Promise<void> | undefined
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
      underWay = undefined
      wait(jittered(failures === 0 ? CHECK_EVERY_MS : retryAfter(failures), random()))
    }
  }

  function retrieveNow(): Promise<void> {
    cancel()
    underWay ??= run()
    return underWay
  }

  function wait(milliseconds: number): void {
    const dueAt = now().getTime() + milliseconds
    let left = milliseconds
    function look(): void {
      const rest = Math.min(left, dueAt - now().getTime())
      if (rest <= 0) {
        retrieveNow().catch((cause: unknown) => {
          if (!stopping.signal.aborted) onFailure(cause)
        })
        return
      }
      const step = Math.min(rest, LOOK_EVERY_MS)
      left -= step
      cancel = timer(look, step)
    }
    if (!stopping.signal.aborted) look()
  }

  return {
    retrieve: retrieveNow,
    stop() {
      stopping.abort()
      cancel()
    },
  }
}

function retryAfter(failures: number): number {
  return Math.min(RETRY_FIRST_MS * 2 ** (failures - 1), RETRY_MAX_MS)
}

function jittered(milliseconds: number, random: number): number {
  return Math.round(milliseconds * (1 + JITTER_SHARE * (2 * random - 1)))
}
