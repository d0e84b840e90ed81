/**
 * Observations of payments, kept in memory. A restart loses them: a payment then ends later, and a retry may observe
 * the chain earlier.
 */
import { LRUCache } from 'lru-cache'
import { isStarted, type ResponseRecord } from '../../store/log/record.ts'
import type { Observation } from './chain/observe.ts'
import { CALL_MS_MAX } from './rpc/time-limits.ts'

/** The shortest distance of two observations of one node that end a payment, on the local clock and in block time. */
export const APART_MS = 60_000
/** Between two observations for retries of a payment: the time between two blocks of Base. */
const RETRY_MS = 2_000
/** Bounds the memory. More than the open payments of half a day at the default rate limit. */
const PAYMENTS_MAX = 100_000

/** Actions that leave a payment unpaid. One observation can come from a fork, so two must agree. */
export type Denial = 'reopen' | 'rejected' | 'expired'

interface Denied {
  denial: Denial
  observation: Observation
  /** On the local clock. */
  at: number
}

export class PastObservations {
  readonly #startedAt: number
  readonly #time: () => number
  readonly #denied = new LRUCache<string, Denied>({ max: PAYMENTS_MAX })
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
    const time = this.#time()
    const updatedAt = Date.parse(updated_at)
    const age = time - updatedAt
    // If the clock was ahead at the start and was set back, the start is in the future and cannot be compared.
    const isSinceStart = updatedAt >= this.#startedAt || this.#startedAt > time
    return isStarted(state) && isSinceStart && age >= 0 && age < CALL_MS_MAX
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

  /**
   * Whether this observation confirms an earlier one of the same node: it has the same result, is at least a minute
   * later on the local clock and in block time, and has a newer final block. The earlier one can come from a fork that
   * is ahead of the chain, so it is replaced after a minute.
   */
  isConfirmed(identity: string, denial: Denial, observation: Observation): boolean {
    const at = this.#time()
    const first = this.#denied.get(identity)
    const isSame = first?.denial === denial && first.observation.node === observation.node && first.at <= at
    if (isSame && at - first.at < APART_MS) return false
    this.#denied.set(identity, { denial, observation, at })
    return isSame && isLaterBy(APART_MS, first.observation, observation)
  }

  /** Whether a first observation waits for another one that confirms it. */
  isDenied(identity: string): boolean {
    return this.#denied.has(identity)
  }

  /** Forgets the denial of a payment, because a later observation contradicts it. */
  forgetDenial(identity: string): void {
    this.#denied.delete(identity)
  }
}

function isLaterBy(milliseconds: number, first: Observation, second: Observation): boolean {
  const isFinalNewer =
    first.final !== undefined && second.final !== undefined && second.final.number > first.final.number
  return isFinalNewer && Number(second.time - first.time) * 1000 >= milliseconds
}
