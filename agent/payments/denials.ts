/**
 * Remembers chain readings that would end a payment at the buyer's cost, and when the chain was read for ended payments. One
 * reading never ends a payment, because it can come from a fork or from another chain behind the same URL. A restart forgets
 * all readings, which only delays an end.
 */
import { setBounded } from './bounded-map.ts'
import type { ChainProgress } from './chain.ts'
import { RecentReadings } from './recent-readings.ts'

/** The distance of the two readings, on the local clock and between block timestamps. */
const READINGS_APART_MS = 60_000
/** More than the open payments of an hour at the default rate limit. */
const READINGS_MAX = 100_000
/** The shortest time between two readings for the transfer of an ended payment. */
const REREAD_INTERVAL_MS = 60_000

/** What a reading would do to the record. */
export type Denial = 'reopen' | 'rejected' | 'expired'

interface Reading extends ChainProgress {
  denial: Denial
  readAt: number
}

export class Denials {
  readonly #now: () => Date
  readonly #first = new Map<string, Reading>()
  readonly #rereads: RecentReadings

  constructor(now: () => Date) {
    this.#now = now
    this.#rereads = new RecentReadings(now, REREAD_INTERVAL_MS)
  }

  /** Whether an earlier reading gave the same result a minute and a final block ago. Otherwise remembers this one. */
  isConfirmed(identity: string, denial: Denial, { time, finalBlock }: ChainProgress): boolean {
    const readAt = this.#now().getTime()
    const first = this.#first.get(identity)
    // If the clock was set back, the first reading is in the future and does not count.
    if (first?.denial !== denial || first.readAt > readAt) {
      setBounded(this.#first, READINGS_MAX, [identity, { denial, readAt, time, finalBlock }])
      return false
    }
    return (
      readAt - first.readAt >= READINGS_APART_MS &&
      Number(time - first.time) * 1000 >= READINGS_APART_MS &&
      finalBlock > first.finalBlock
    )
  }

  /** Forgets the readings of a payment, because a later one contradicts them. */
  forget(identity: string): void {
    this.#first.delete(identity)
  }

  /** Whether the chain may be read now for a retry of an ended payment. Counts the reading. */
  takeReread(identity: string): boolean {
    if (this.#rereads.waitMs(identity) > 0) return false
    this.#rereads.note(identity)
    return true
  }
}
