/**
 * Which settlements are in progress, and which payments were observed for a retry. An attempt renews a lease in its
 * record, so that another process neither settles the payment too nor waits for an attempt whose process has died.
 */
import { LRUCache } from 'lru-cache'
import { entriesAtMost } from '../../base/lru-cache.ts'
import type { Timer } from '../../base/runtime.ts'
import type { Lease, ResponseRecord } from '../../store/log/record.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import { CALL_MS_MAX } from './rpc/time-limits.ts'
import { STATE_RULES } from './states.ts'

/** Bounds the memory. More than the open payments of half a day at the default rate limit. */
const PAYMENTS_MAX = 100_000
/** Longer than most settlements, which therefore write no renewal. */
const RENEW_MS = 3_000
/** After them an attempt has exceeded the time limit of a call. */
const RENEWALS_MAX = Math.floor(CALL_MS_MAX / RENEW_MS)

/** The lease of an attempt that begins. Three renewals may be late. */
export const NEW_LEASE: Lease = { duration_ms: 10_000, renewals: 0 }

interface Options {
  log: Pick<ResponseLog, 'advance'>
  monotonic: () => number
  timer: Timer
}

/** What this process knows of an attempt: that its own one has ended, or when it first saw the present lease. */
type Seen = { kind: 'ended' } | { kind: 'leased'; renewals: number; since: number }

/** Names an attempt. */
const keyOf = ({ identity, attempt }: ResponseRecord) => `${identity} ${attempt}`

export class RecentAttempts {
  readonly #options: Options
  /** On the monotonic clock. */
  readonly #observedAt = new LRUCache<string, number>(entriesAtMost(PAYMENTS_MAX))
  /** The attempts of this process. */
  readonly #running = new Set<string>()
  readonly #seen = new LRUCache<string, Seen>(entriesAtMost(PAYMENTS_MAX))

  constructor(options: Options) {
    this.#options = options
  }

  /** Renews the lease of the attempt while `work` runs. */
  async run<Result>(record: ResponseRecord, work: () => Promise<Result>): Promise<Result> {
    const key = keyOf(record)
    const endLease = this.#keepLease(record)
    this.#running.add(key)
    try {
      return await work()
    } finally {
      endLease()
      this.#running.delete(key)
      this.#seen.set(key, { kind: 'ended' })
    }
  }

  /** Whether this or another process may still be settling the record. */
  isInProgress(record: ResponseRecord): boolean {
    const { state, lease } = record
    if (STATE_RULES[state].isAttempt !== true || !lease) return false
    const key = keyOf(record)
    if (this.#running.has(key)) return true
    const seen = this.#seen.get(key)
    if (seen?.kind === 'ended') return false
    // Only this clock is read, because those of two machines differ.
    const now = this.#options.monotonic()
    const since = seen?.renewals === lease.renewals ? seen.since : now
    this.#seen.set(key, { kind: 'leased', renewals: lease.renewals, since })
    return now - since < lease.duration_ms
  }

  /** The time until a retry may observe the payment. 0 if it may now. Undefined if no retry observes it. */
  waitMs({ identity, state }: ResponseRecord): number | undefined {
    const { observeAfterMs } = STATE_RULES[state]
    const observedAt = this.#observedAt.get(identity) ?? -Infinity
    return observeAfterMs && Math.max(0, observedAt + observeAfterMs - this.#options.monotonic())
  }

  noteObserved(identity: string): void {
    this.#observedAt.set(identity, this.#options.monotonic())
  }

  /** Returns a function that ends the lease. */
  #keepLease(record: ResponseRecord): () => void {
    const { log, timer } = this.#options
    const { state, updated_at } = record
    let isHeld = true
    let cancel = (): void => undefined
    const renewLater = (renewals: number): void => {
      cancel = timer(() => void renew(renewals), RENEW_MS)
    }
    async function renew(renewals: number): Promise<void> {
      const lease = { ...NEW_LEASE, renewals }
      // A renewal that cannot be written is late.
      await log.advance(record, { state, updated_at, lease }).catch(() => undefined)
      if (isHeld && renewals < RENEWALS_MAX) renewLater(renewals + 1)
    }
    renewLater(1)
    return () => {
      isHeld = false
      cancel()
    }
  }
}
