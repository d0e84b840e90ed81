/**
 * The sales of the last minute of this process (contract 6.2.1). They are in memory, so a restart forgets them. Several
 * processes do not share them, which would cost a row of PostgreSQL for each sale: each sells its part of the limit.
 */
import { count, giveBack, spend, type SlidingMinute } from '../../../base/sliding-minute.ts'

interface SalesLimitOptions {
  /** Of this process. */
  perMinute: number
  /** Milliseconds of a clock that never goes back. */
  clock: () => number
}

export class SalesLimit {
  readonly #options: SalesLimitOptions
  readonly #minute: SlidingMinute = []

  constructor(options: SalesLimitOptions) {
    this.#options = options
  }

  /** Counts a sale, unless the limit is reached. */
  take(): { kind: 'taken'; giveBack: () => void } | { kind: 'full'; waitMs: number } {
    const { perMinute, clock } = this.#options
    const spending = spend(this.#minute, { units: 1, max: perMinute, timeMs: clock() })
    if (spending.kind === 'full') return spending
    return { kind: 'taken', giveBack: () => giveBack(this.#minute, { at: spending.at, units: 1 }) }
  }

  count(): number {
    return count(this.#minute, this.#options.clock())
  }
}
