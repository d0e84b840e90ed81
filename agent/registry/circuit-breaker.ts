/** Stops calls to a node that fails. */

/** Failures in a row that open the circuit breaker. */
const FAILURES_MAX = 3
const OPEN_MS = 5_000

export class CircuitBreaker {
  readonly #now: () => Date
  #failures = 0
  #openedAt = Number.NEGATIVE_INFINITY

  constructor({ now }: { now: () => Date }) {
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
