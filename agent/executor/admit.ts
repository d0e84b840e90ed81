/**
 * The shared rate limit (spec 8, decisions 6): a sliding minute over all clients of this process.
 *
 * Free traffic must not lock payers out. So a request without a good payment is measured against everything in the
 * window, and one whose payment looks right only against the requests that verified. A payment that then fails
 * verification is entered as unpaid.
 */
import { refused, type Refused } from '../operation/outcome.ts'

const WINDOW_MS = 60_000

/** A request's place in the window. A paying one is held as verified until it is known. */
export interface Place {
  /** The facilitator has refused the payment. */
  failed(): void
  /** The request came to nothing through no fault of its own. */
  leave(): void
}

interface Entry {
  at: number
  paid: boolean
}

export class RateLimit {
  readonly #perMinute: number
  readonly #now: () => Date
  #entries: Entry[] = []

  constructor({ perMinute, now }: { perMinute: number; now: () => Date }) {
    this.#perMinute = perMinute
    this.#now = now
  }

  enter(kind: 'unpaid' | 'paying'): Place | Refused {
    const now = this.#now().getTime()
    this.#entries = this.#entries.filter(({ at }) => at > now - WINDOW_MS && at <= now)
    const rivals = kind === 'paying' ? this.#entries.filter(({ paid }) => paid) : this.#entries
    const blocking = rivals.at(-this.#perMinute)
    if (blocking) return tooMany(blocking.at + WINDOW_MS - now)
    const entry = { at: now, paid: kind === 'paying' }
    this.#entries.push(entry)
    return {
      failed: () => void (entry.paid = false),
      leave: () => void (this.#entries = this.#entries.filter((each) => each !== entry)),
    }
  }
}

function tooMany(waitMs: number): Refused {
  return refused({ code: 'rate_limited', retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
}
