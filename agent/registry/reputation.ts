/**
 * Pages of one client's feedback, read when they are asked for: kept for a moment, read once for everyone who asks at the
 * same time, and few enough that nobody can make us hammer the RPC.
 */
import { inTime, type Timer } from './deadline.ts'
import { isOutage } from './errors.ts'
import { Breaker, FixedWindow } from './limits.ts'
import type { Page, PageQuery, Reader } from './reader.ts'

export const PAGE_CACHE_SECONDS = 15
const PAGES_KEPT_MAX = 512
/** Both batches of one page. */
const PAGE_MS_MAX = 3_000
const READS_AT_ONCE_MAX = 4
const READS_PER_WINDOW_MAX = 10

interface CheckedPage extends Page {
  checkedAt: string
}

export type PageOutcome =
  | { kind: 'page'; page: CheckedPage }
  /** As many reads as there may be are under way or were made. */
  | { kind: 'busy' }
  | { kind: 'unread' }

interface Reading {
  reader: Pick<Reader, 'page'>
  now: () => Date
  timer: Timer
  report: (event: string, cause: unknown) => void
}

export class ReputationPages {
  readonly #reading: Reading
  readonly #window: FixedWindow
  readonly #breaker: Breaker
  /** In the order of their last use. */
  readonly #kept = new Map<string, { page: CheckedPage; at: number }>()
  readonly #underWay = new Map<string, Promise<PageOutcome>>()

  constructor(reading: Reading) {
    this.#reading = reading
    this.#window = new FixedWindow({ max: READS_PER_WINDOW_MAX, now: reading.now })
    this.#breaker = new Breaker(reading)
  }

  /** How many pages are in memory. */
  get held(): number {
    return this.#kept.size
  }

  async get(query: PageQuery): Promise<PageOutcome> {
    const key = `${query.client}:${query.start}:${query.limit}`
    const page = this.#recall(key)
    if (page) return { kind: 'page', page }
    const joined = this.#underWay.get(key)
    if (joined) return joined
    if (this.#window.isFull() || this.#underWay.size >= READS_AT_ONCE_MAX) return { kind: 'busy' }
    if (this.#breaker.isOpen()) return { kind: 'unread' }
    this.#window.take()
    const reading = this.#read(key, query).finally(() => this.#underWay.delete(key))
    this.#underWay.set(key, reading)
    return reading
  }

  async #read(key: string, query: PageQuery): Promise<PageOutcome> {
    const { reader, timer, now, report } = this.#reading
    try {
      const found = await inTime({ timer, milliseconds: PAGE_MS_MAX }, (signal) => reader.page(query, signal))
      const at = now()
      const page = { ...found, checkedAt: at.toISOString() }
      this.#breaker.succeeded()
      this.#keep(key, { page, at: at.getTime() })
      return { kind: 'page', page }
    } catch (cause) {
      report('reputation_unread', cause)
      if (isOutage(cause)) this.#breaker.failed()
      return { kind: 'unread' }
    }
  }

  #recall(key: string): CheckedPage | undefined {
    const kept = this.#kept.get(key)
    if (!kept) return undefined
    this.#kept.delete(key)
    const age = this.#reading.now().getTime() - kept.at
    if (age < 0 || age >= PAGE_CACHE_SECONDS * 1000) return undefined
    this.#kept.set(key, kept)
    return kept.page
  }

  #keep(key: string, kept: { page: CheckedPage; at: number }): void {
    this.#kept.set(key, kept)
    const [oldest] = this.#kept.keys()
    if (oldest !== undefined && this.#kept.size > PAGES_KEPT_MAX) this.#kept.delete(oldest)
  }
}
