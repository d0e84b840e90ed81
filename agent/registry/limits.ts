/** Limits of the registry routes, for all clients together: a fixed window, and a circuit breaker for the node. */

/** A window ends after this time at the latest, so it is also the `Retry-After` of a full window. */
export const WINDOW_SECONDS = 5

/** Failures in a row that open the circuit breaker. */
const FAILURES_MAX = 3
const OPEN_MS = 5_000

type Now = () => Date

export class FixedWindow {
  readonly #max: number
  readonly #now: Now
  #startedAt = Number.NEGATIVE_INFINITY
  #count = 0

  constructor({ max, now }: { max: number; now: Now }) {
    this.#max = max
    this.#now = now
  }

  isFull(): boolean {
    const age = this.#now().getTime() - this.#startedAt
    // A negative age means that the clock was set back.
    if (age < 0 || age >= WINDOW_SECONDS * 1000) this.#count = 0
    return this.#count >= this.#max
  }

  /** Counts one request. False if the window is full. */
  take(): boolean {
    if (this.isFull()) return false
    if (this.#count === 0) this.#startedAt = this.#now().getTime()
    this.#count += 1
    return true
  }
}

export class CircuitBreaker {
  readonly #now: Now
  #failures = 0
  #openedAt = Number.NEGATIVE_INFINITY

  constructor({ now }: { now: Now }) {
    this.#now = now
  }

  isOpen(): boolean {
    const age = this.#now().getTime() - this.#openedAt
    return age >= 0 && age < OPEN_MS
  }

  succeeded(): void {
    this.#failures = 0
  }

  /** After the breaker has opened once, each further failure opens it again, until a success. */
  failed(): void {
    this.#failures += 1
    if (this.#failures >= FAILURES_MAX) this.#openedAt = this.#now().getTime()
  }
}
