/**
 * Reads pages of one reviewer's feedback on demand. Pages are cached for some seconds, and concurrent requests share one read. The
 * budget of the client pays for a read, and few reads run at once, so clients cannot overload the node.
 */
import { LRUCache } from 'lru-cache'
import type { Report, Timer } from '../../store/base/runtime.ts'
import { WEIGHTS } from '../limits/address-budget.ts'
import type { Client } from '../limits/address-budget.ts'
import { FairQueue } from '../limits/fair-queue.ts'
import { withDeadline } from '../rpc/deadline.ts'
import { isOutage } from './errors.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { FeedbackPage, FeedbackQuery, RegistryReader } from './reader.ts'

export const PAGE_CACHE_SECONDS = 15
const CACHED_PAGES_MAX = 512
/** For both batches of one page. */
const PAGE_MS_MAX = 3_000
const CONCURRENT_READS_MAX = 16

interface CheckedPage extends FeedbackPage {
  checkedAt: string
}

export type FeedbackOutcome =
  | { kind: 'page'; page: CheckedPage }
  /** The budget of the client does not pay for a read. */
  | { kind: 'busy' }
  /** The node failed, or the circuit breaker is open. */
  | { kind: 'unread' }

interface FeedbackCacheOptions {
  reader: Pick<RegistryReader, 'page'>
  now: () => Date
  timer: Timer
  report: Report
}

export class FeedbackCache {
  readonly #options: FeedbackCacheOptions
  readonly #queue = new FairQueue(CONCURRENT_READS_MAX)
  readonly #breaker: CircuitBreaker
  readonly #pages = new LRUCache<string, { page: CheckedPage; at: number }>({ max: CACHED_PAGES_MAX })
  readonly #reads = new Map<string, Promise<FeedbackOutcome>>()

  constructor(options: FeedbackCacheOptions) {
    this.#options = options
    this.#breaker = new CircuitBreaker(options)
  }

  /** The number of cached pages. */
  get size(): number {
    return this.#pages.size
  }

  async get(query: FeedbackQuery, client: Client): Promise<FeedbackOutcome> {
    const key = `${query.client}:${query.start}:${query.limit}`
    const page = this.#lookup(key)
    if (page) return { kind: 'page', page }
    const current = this.#reads.get(key)
    if (current) return current
    if (this.#breaker.isOpen()) return { kind: 'unread' }
    if (client.budget.spend(WEIGHTS.remoteCall)) return { kind: 'busy' }
    const read = this.#queue.run(client.address, () => this.#read(key, query)).finally(() => this.#reads.delete(key))
    this.#reads.set(key, read)
    return read
  }

  async #read(key: string, query: FeedbackQuery): Promise<FeedbackOutcome> {
    const { reader, timer, now, report } = this.#options
    try {
      const found = await withDeadline({ timer, milliseconds: PAGE_MS_MAX }, (signal) => reader.page(query, signal))
      const at = now()
      const page = { ...found, checkedAt: at.toISOString() }
      this.#breaker.succeeded()
      this.#pages.set(key, { page, at: at.getTime() })
      return { kind: 'page', page }
    } catch (cause) {
      report('reputation_unread', cause)
      if (isOutage(cause)) this.#breaker.failed()
      return { kind: 'unread' }
    }
  }

  #lookup(key: string): CheckedPage | undefined {
    const cached = this.#pages.get(key)
    if (!cached) return undefined
    const age = this.#options.now().getTime() - cached.at
    return age >= 0 && age < PAGE_CACHE_SECONDS * 1000 ? cached.page : undefined
  }
}
