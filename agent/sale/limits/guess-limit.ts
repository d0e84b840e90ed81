/**
 * Limits guesses of the request that a recorded payment has bought (contract 6.2.6). The authorization of a settled
 * payment is public. Without a payment id, anyone can rebuild the payload and try operations.
 */
import { LRUCache } from 'lru-cache'

/** Wrong payloads for one payment, of all addresses together. A buyer who mixes up two requests makes a few. */
const FREE_MAX = 20
/** After the free ones, one is compared in this time. */
const INTERVAL_MS = 6_000
/** Bounds the memory, a few megabytes. The payment that was idle longest is forgotten first. */
const PAYMENTS_MAX = 10_000

interface Guesses {
  /** The time at which all free guesses are available again. */
  restoredAt: number
  /** The address that sent the right payload last. It is not limited, so guesses cannot lock the buyer out. */
  buyer: string | undefined
}

export class GuessLimit {
  readonly #clock: () => number
  readonly #payments = new LRUCache<string, Guesses>({ max: PAYMENTS_MAX })

  /** @param clock milliseconds of a clock that never goes back */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Milliseconds until a payload of this address is compared with the record. */
  waitMs(identity: string, address: string): number {
    const guesses = this.#payments.get(identity)
    if (!guesses || guesses.buyer === address) return 0
    return Math.max(0, guesses.restoredAt - this.#clock() - (FREE_MAX - 1) * INTERVAL_MS)
  }

  noteWrong(identity: string): void {
    const { restoredAt = 0, buyer } = this.#payments.get(identity) ?? {}
    this.#payments.set(identity, { restoredAt: Math.max(restoredAt, this.#clock()) + INTERVAL_MS, buyer })
  }

  noteRight(identity: string, buyer: string): void {
    const restoredAt = this.#payments.get(identity)?.restoredAt ?? 0
    this.#payments.set(identity, { restoredAt, buyer })
  }
}
