/**
 * What a process remembers of payments between two observations. Without it, after a restart, ends of payments take longer
 * and retries observe the chain sooner.
 */
import { setBounded } from '../payments/bounded-map.ts'
import type { Observation } from '../chain/observe.ts'

/** The shortest distance of two observations of one node that end a payment, on the local clock and in block time. */
const APART_MS = 60_000
/** Between two observations for retries of a payment: the time between two blocks of Base. */
const RETRY_MS = 2_000
/** More than the open payments of an hour at the default rate limit. */
const PAYMENTS_MAX = 100_000

/** The ends at the cost of a buyer. One observation can come from a fork, so two must agree. */
export type Denial = 'reopen' | 'rejected' | 'expired'

export interface DenialObservation {
  denial: Denial
  /** The newest block and the final block. */
  time: bigint
  final: NonNullable<Observation['final']>
}

interface First extends DenialObservation {
  observedAt: number
}

export class SettlementMemory {
  readonly startedAt: number
  readonly #time: () => number
  readonly #denials = new Map<string, First>()
  readonly #observedAt = new Map<string, number>()

  constructor(now: () => Date) {
    this.#time = () => now().getTime()
    this.startedAt = this.#time()
  }

  /** The time until a retry may observe the payment. 0 if it may now. */
  waitMs(identity: string, intervalMs = RETRY_MS): number {
    const elapsed = this.#time() - (this.#observedAt.get(identity) ?? -Infinity)
    // If the clock was set back, the observation is in the future and does not count.
    return elapsed < 0 ? 0 : Math.max(0, intervalMs - elapsed)
  }

  noteObserved(identity: string): void {
    setBounded(this.#observedAt, PAYMENTS_MAX, [identity, this.#time()])
  }

  /**
   * Whether this observation confirms the first one: it has the same result, is at least a minute later on the local clock and
   * in block time, and has a newer final block. The first one is kept until it is confirmed or obsolete.
   */
  isConfirmed(identity: string, denied: DenialObservation): boolean {
    const second = { ...denied, observedAt: this.#time() }
    const first = this.#denials.get(identity)
    if (!first || isObsolete(first, second)) {
      setBounded(this.#denials, PAYMENTS_MAX, [identity, second])
      return false
    }
    const isLater = Number(second.time - first.time) * 1000 >= APART_MS && second.final.number > first.final.number
    return isApart(first, second) && isLater
  }

  /** Forgets the denial of a payment, because a later observation contradicts it. */
  forgetDenial(identity: string): void {
    this.#denials.delete(identity)
  }
}

function isApart(first: First, { observedAt }: First): boolean {
  return observedAt - first.observedAt >= APART_MS
}

/**
 * Whether the later observation must replace the first one. This is so if their results differ, if the clock was set back, or
 * if the later one has an older block after a minute: the first one came from a fork that is ahead of the chain.
 */
function isObsolete(first: First, second: First): boolean {
  if (first.denial !== second.denial || first.observedAt > second.observedAt) return true
  return isApart(first, second) && (second.time < first.time || second.final.number < first.final.number)
}
