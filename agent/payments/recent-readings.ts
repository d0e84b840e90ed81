/** When the chain was last read for each payment, so that retries within a short time share one reading. */
import { setBounded } from './bounded-map.ts'

/** Between two readings for retries of a payment with an unknown outcome: the time between two blocks of Base. */
export const READING_INTERVAL_MS = 2_000
/** Bounds the memory. A payment whose reading is forgotten is read once more. */
const READINGS_MAX = 10_000

export class RecentReadings {
  readonly #now: () => Date
  readonly #intervalMs: number
  readonly #readAt = new Map<string, number>()

  constructor(now: () => Date, intervalMs: number) {
    this.#now = now
    this.#intervalMs = intervalMs
  }

  /** The time until the chain may be read again for this payment. 0 if it may be read now. */
  waitMs(identity: string): number {
    const elapsed = this.#now().getTime() - (this.#readAt.get(identity) ?? -Infinity)
    // If the clock was set back, the reading is in the future and does not count.
    return elapsed < 0 ? 0 : Math.max(0, this.#intervalMs - elapsed)
  }

  note(identity: string): void {
    setBounded(this.#readAt, READINGS_MAX, [identity, this.#now().getTime()])
  }
}
