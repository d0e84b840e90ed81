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
  isCounted: boolean
}

/** Entries that have left the window are dropped this many at a time; one by one would move all the others each time. */
const DROPPED_AT_ONCE = 1_000

export class RateLimit {
  readonly #perMinute: number
  readonly #now: () => Date
  #entries: Entry[] = []
  /** Of the entries, those before this one have left the window. */
  #first = 0
  #paid = 0

  constructor({ perMinute, now }: { perMinute: number; now: () => Date }) {
    this.#perMinute = perMinute
    this.#now = now
  }

  /** Counts, and looks through the entries only to refuse: at a high limit there are very many of them. */
  enter(kind: 'unpaid' | 'paying'): Place | Refused {
    const now = this.#now().getTime()
    this.#forget(now)
    const isPaying = kind === 'paying'
    const rivals = isPaying ? this.#paid : this.#entries.length - this.#first
    if (rivals >= this.#perMinute) {
      const counted = this.#entries.slice(this.#first).filter(({ paid }) => paid || !isPaying)
      return tooMany((counted.at(-this.#perMinute)?.at ?? now) + WINDOW_MS - now)
    }
    const entry = { at: now, paid: isPaying, isCounted: true }
    this.#entries.push(entry)
    if (isPaying) this.#paid += 1
    return {
      failed: () => {
        if (entry.isCounted && entry.paid) this.#paid -= 1
        entry.paid = false
      },
      leave: () => {
        if (!entry.isCounted) return
        this.#entries.splice(this.#entries.lastIndexOf(entry), 1)
        this.#uncount(entry)
      },
    }
  }

  /** The entries are in the order of time, unless the clock was put back: what is then ahead of it goes as well. */
  #forget(now: number): void {
    for (let last = this.#entries.at(-1); last && last.at > now; last = this.#entries.at(-1)) {
      this.#entries.pop()
      this.#uncount(last)
    }
    this.#first = Math.min(this.#first, this.#entries.length)
    for (
      let first = this.#entries[this.#first];
      first && first.at <= now - WINDOW_MS;
      first = this.#entries[this.#first]
    ) {
      this.#first += 1
      this.#uncount(first)
    }
    if (this.#first < DROPPED_AT_ONCE) return
    this.#entries.splice(0, this.#first)
    this.#first = 0
  }

  #uncount(entry: Entry): void {
    if (entry.isCounted && entry.paid) this.#paid -= 1
    entry.isCounted = false
  }
}

function tooMany(waitMs: number): Refused {
  return refused({ code: 'rate_limited', retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
}
