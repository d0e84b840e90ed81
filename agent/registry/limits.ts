/** How much the registries' routes do for anyone at all: fixed windows, and a breaker that lets a broken RPC rest. */

/** After so long a window is certainly a new one, so `Retry-After` is always true (spec 4.4). */
export const WINDOW_SECONDS = 5

/** Failures in a row after which the breaker opens, and for how long. */
const FAILURES_MAX = 3
const OPEN_MS = 5_000

type Now = () => Date

export class FixedWindow {
  readonly #max: number
  readonly #now: Now
  #began = Number.NEGATIVE_INFINITY
  #count = 0

  constructor({ max, now }: { max: number; now: Now }) {
    this.#max = max
    this.#now = now
  }

  isFull(): boolean {
    const age = this.#now().getTime() - this.#began
    // Also when the clock was put back.
    if (age < 0 || age >= WINDOW_SECONDS * 1000) this.#count = 0
    return this.#count >= this.#max
  }

  /** Counts one more, and says whether there was room for it. */
  take(): boolean {
    if (this.isFull()) return false
    if (this.#count === 0) this.#began = this.#now().getTime()
    this.#count += 1
    return true
  }
}

export class Breaker {
  readonly #now: Now
  #failures = 0
  #opened = Number.NEGATIVE_INFINITY

  constructor({ now }: { now: Now }) {
    this.#now = now
  }

  isOpen(): boolean {
    const age = this.#now().getTime() - this.#opened
    return age >= 0 && age < OPEN_MS
  }

  succeeded(): void {
    this.#failures = 0
  }

  /** After a rest one more failure opens it again. */
  failed(): void {
    this.#failures += 1
    if (this.#failures >= FAILURES_MAX) this.#opened = this.#now().getTime()
  }
}
