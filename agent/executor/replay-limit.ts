/**
 * Limits requests with a recorded payment that has no payment id (contract 6.2.7), and searches for the settlement of a
 * payment without a record (5.7.12). The calldata of a settlement is public, so anyone can rebuild such a payment.
 */
import { LRUCache } from 'lru-cache'
import type { Refused } from '../operation/outcome.ts'
import { rateLimited } from './rate-limited.ts'

/** An honest client repeats a request a few times. Guessing needs thousands of requests. */
const FREE_MAX = 10
/** After the free requests, one is admitted in this time. */
const INTERVAL_MS = 6_000
/** Bounds the memory, a few megabytes. The key that was idle longest is forgotten first. */
const KEYS_MAX = 10_000

/** For each key, the time at which all its free requests are available again. */
class Allowance {
  readonly #restoredAt: LRUCache<string, number>

  constructor(keysMax: number) {
    this.#restoredAt = new LRUCache({ max: keysMax })
  }

  /** Milliseconds until a request is admitted. */
  waitMs(key: string, now: number): number {
    return Math.max(0, this.#remainingMs(key, now) - (FREE_MAX - 1) * INTERVAL_MS)
  }

  take(key: string, now: number): void {
    this.#restoredAt.set(key, now + this.#remainingMs(key, now) + INTERVAL_MS)
  }

  #remainingMs(key: string, now: number): number {
    const remaining = Math.max(0, (this.#restoredAt.get(key) ?? 0) - now)
    const longest = FREE_MAX * INTERVAL_MS
    if (remaining <= longest) return remaining
    // The clock was set back.
    this.#restoredAt.set(key, now + longest)
    return longest
  }
}

export class ReplayLimit {
  readonly #time: () => number
  /** Requests with one payment from one client address, so that no other address can use up the requests of a client. */
  readonly #requests: Allowance
  /** Conflicts or searches of one client address, with all payments. */
  readonly #all: Allowance

  constructor(now: () => Date, keysMax = KEYS_MAX) {
    this.#time = () => now().getTime()
    this.#requests = new Allowance(keysMax)
    this.#all = new Allowance(keysMax)
  }

  /** Counts a request. A refusal does not depend on what the request asks for, so it does not reveal a right guess. */
  enter(identity: string, client: string): Refused | undefined {
    const now = this.#time()
    const key = `${client} ${identity}`
    const waitMs = Math.max(this.#requests.waitMs(key, now), this.#all.waitMs(client, now))
    if (waitMs > 0) return rateLimited(waitMs)
    this.#requests.take(key, now)
    return undefined
  }

  /** Counts a conflict or a search, together with those for other payments of the client. */
  countForAll(client: string): void {
    this.#all.take(client, this.#time())
  }
}
