/**
 * Remembers that the response log has refused a sale because the limit of a minute is reached (contract 6.2.1). Requests of the next
 * second are then refused before they cost calls to the node and to the facilitator.
 */
import { rateLimited, type Refused } from '../operation/outcome.ts'

/** Short, because refused settlements give their sales back. */
const REMEMBERED_MS = 1_000

export class SaleLimit {
  readonly #clock: () => number
  #fullUntil = -Infinity
  #freeAt = 0

  /** @param clock milliseconds of a clock that never goes back */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  check(): Refused | undefined {
    const now = this.#clock()
    return now < this.#fullUntil ? rateLimited(this.#freeAt - now) : undefined
  }

  noteFull(waitMs: number): Refused {
    const now = this.#clock()
    this.#freeAt = now + waitMs
    this.#fullUntil = now + Math.min(waitMs, REMEMBERED_MS)
    return rateLimited(waitMs)
  }
}
