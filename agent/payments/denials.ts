/**
 * Remembers chain readings that would end a payment at the buyer's cost, and when the chain was read for ended payments. One
 * reading never ends a payment, because it can come from a fork or from another chain behind the same URL. A restart forgets
 * all readings, which only delays an end.
 */
import type { ChainProgress } from './chain.ts'

/** The distance of the two readings, on the local clock and between block timestamps. */
const READINGS_APART_MS = 60_000
/** More than the open payments of an hour at the default rate limit. */
const READINGS_MAX = 100_000
/** The shortest time between two readings for the transfer of an ended payment. */
const REREAD_INTERVAL_MS = 60_000
const REREADS_MAX = 10_000

/** What a reading would do to the record. */
export type Denial = 'reopen' | 'rejected' | 'expired'

interface Reading extends ChainProgress {
  denial: Denial
  readAt: number
}

export class Denials {
  readonly #now: () => Date
  readonly #first = new Map<string, Reading>()
  readonly #rereadAt = new Map<string, number>()

  constructor(now: () => Date) {
    this.#now = now
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
    const now = this.#now().getTime()
    const last = this.#rereadAt.get(identity)
    if (last !== undefined && last <= now && now - last < REREAD_INTERVAL_MS) return false
    setBounded(this.#rereadAt, REREADS_MAX, [identity, now])
    return true
  }
}

/** Not an LRUCache, which reserves memory for all entries. */
function setBounded<Value>(map: Map<string, Value>, max: number, [key, value]: [string, Value]): void {
  map.delete(key)
  for (const oldest of map.keys()) {
    if (map.size < max) break
    map.delete(oldest)
  }
  map.set(key, value)
}
