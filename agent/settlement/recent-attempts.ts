/** What this process knows of its requests for payments. In memory: after a restart a retry may observe earlier. */
import { LRUCache } from 'lru-cache'
import { isStarted, type ResponseRecord } from '../../store/log/record.ts'
import { CALL_MS_MAX } from './rpc/time-limits.ts'

/** Between two observations for retries of a payment: the time between two blocks of Base. */
const RETRY_MS = 2_000
/** Bounds the memory. More than the open payments of half a day at the default rate limit. */
const PAYMENTS_MAX = 100_000

export class RecentAttempts {
  readonly #startedAt: number
  readonly #time: () => number
  readonly #observedAt = new LRUCache<string, number>({ max: PAYMENTS_MAX })
  /** When the records of failed requests were prepared. */
  readonly #failed = new LRUCache<string, string>({ max: PAYMENTS_MAX })

  constructor(now: () => Date) {
    this.#time = () => now().getTime()
    this.#startedAt = this.#time()
  }

  /**
   * Whether a request, of this or another process, may still be settling the record. Settlements from before the start
   * of this process have ended with the process before it.
   */
  isInProgress({ state, updated_at }: ResponseRecord): boolean {
    const [time, updatedAt] = [this.#time(), Date.parse(updated_at)]
    // If the clock was ahead at the start and was set back, the start is in the future and cannot be compared.
    const isSinceStart = updatedAt >= this.#startedAt || this.#startedAt > time
    // The clock of another machine can be ahead.
    return isStarted(state) && isSinceStart && Math.abs(time - updatedAt) < CALL_MS_MAX
  }

  /** A request of this process has failed after it may have stored the record, so it no longer settles it. */
  noteFailed(identity: string, preparedAt: Date): void {
    this.#failed.set(identity, preparedAt.toISOString())
  }

  /** Whether the request that prepared the record has failed, so that a retry need not wait for it. */
  isAbandoned({ identity, state, prepared_at }: ResponseRecord): boolean {
    return state === 'prepared' && this.#failed.get(identity) === prepared_at
  }

  /** The time until a retry may observe the payment. 0 if it may now. */
  waitMs(identity: string, intervalMs = RETRY_MS): number {
    const elapsed = this.#time() - (this.#observedAt.get(identity) ?? -Infinity)
    // If the clock was set back, the observation is in the future and does not count.
    return elapsed < 0 ? 0 : Math.max(0, intervalMs - elapsed)
  }

  noteObserved(identity: string): void {
    this.#observedAt.set(identity, this.#time())
  }
}
