/**
 * Remembers chain readings that would end a payment at the buyer's cost, and when the chain was read for ended payments. One
 * reading never ends a payment, because it can come from a fork or from another chain behind the same URL. A restart forgets
 * all readings, which only delays an end.
 */
import { setBounded } from './bounded-map.ts'
import type { ChainProgress } from './chain.ts'
import { RecentReadings } from './recent-readings.ts'

/** The shortest distance of the two readings, on the local clock and between block timestamps. */
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

  /**
   * Whether this reading confirms the first one: it has the same result, is at least a minute later on the local clock and in block
   * time, and has a newer final block. The first reading is kept until it is confirmed or obsolete.
   */
  isConfirmed(identity: string, denial: Denial, progress: ChainProgress): boolean {
    const reading = { ...progress, denial, readAt: this.#now().getTime() }
    const first = this.#first.get(identity)
    if (!first || isObsolete(first, reading)) {
      setBounded(this.#first, READINGS_MAX, [identity, reading])
      return false
    }
    return (
      isMinuteApart(first, reading) &&
      Number(reading.time - first.time) * 1000 >= READINGS_APART_MS &&
      reading.finalBlock > first.finalBlock
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

function isMinuteApart(first: Reading, { readAt }: Reading): boolean {
  return readAt - first.readAt >= READINGS_APART_MS
}

/**
 * Whether the later reading must replace the first one. This is so if their results differ, if the clock was set back, or if the later
 * one has an older block after a minute. In the last case the first reading came from a fork that is ahead of the chain.
 */
function isObsolete(first: Reading, reading: Reading): boolean {
  if (first.denial !== reading.denial || first.readAt > reading.readAt) return true
  return isMinuteApart(first, reading) && (reading.time < first.time || reading.finalBlock < first.finalBlock)
}
