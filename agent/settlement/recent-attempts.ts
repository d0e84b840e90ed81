/**
 * Which settlements are in progress, and which payments were observed for a retry. A process that settles for longer
 * gives a sign of life in the log, so that another one neither settles the payment too nor waits for one that has died.
 */
import { LRUCache } from 'lru-cache'
import type { Timer } from '../../base/runtime.ts'
import { isStarted, type ResponseRecord } from '../../store/log/record.ts'
import { processName, type ResponseLog } from '../../store/log/responses.ts'
import { CALL_MS_MAX } from './rpc/time-limits.ts'

/** Between two observations for retries of a payment: the time between two blocks of Base. */
const RETRY_MS = 2_000
/** Bounds the memory. More than the open payments of half a day at the default rate limit. */
const PAYMENTS_MAX = 100_000
/** Between two signs of life. Most settlements end before the first one. */
const SIGN_MS = 3_000
/** A process without a sign for so long has died. Three signs may be late. */
const SILENT_MS_MAX = 10_000

interface Options {
  log: ResponseLog
  monotonic: () => number
  timer: Timer
  /** Default: another name for each instance. */
  process?: string
}

/** A settlement of another process, as this process has seen it. On the monotonic clock. */
interface Seen {
  since: number
  sign: string | undefined
  signAt: number
}

export class RecentAttempts {
  readonly #options: Options
  /** On the monotonic clock. */
  readonly #observedAt = new LRUCache<string, number>({ max: PAYMENTS_MAX })
  readonly #running = new Set<string>()
  readonly #seen = new LRUCache<string, Seen>({ max: PAYMENTS_MAX })
  #signs = 0
  #isSigning = false
  /** Names this process in the records that it settles. */
  readonly process: string

  constructor(options: Options) {
    this.#options = options
    this.process = options.process ?? processName(process.pid)
  }

  /** While `work` runs, this process settles the payment. */
  async run<Result>(identity: string, work: () => Promise<Result>): Promise<Result> {
    this.#running.add(identity)
    this.#signLater()
    try {
      return await work()
    } finally {
      this.#running.delete(identity)
    }
  }

  /** Whether a request, of this or another process, may still be settling the record. */
  async isInProgress(record: ResponseRecord): Promise<boolean> {
    const { state, settling_process: name, identity, attempt } = record
    if (!isStarted(state)) return false
    if (name === this.process) return this.#running.has(identity)
    const { log, monotonic } = this.#options
    if (await log.hasEnded(name)) return false
    const sign = (await log.notes(signKey(name))).get(signKey(name))
    // Clocks of two machines are not compared.
    const now = monotonic()
    const key = `${identity} ${attempt}`
    const seen = this.#seen.get(key) ?? { since: now, sign, signAt: now }
    const signAt = seen.sign === sign ? seen.signAt : now
    this.#seen.set(key, { since: seen.since, sign, signAt })
    return now - signAt < SILENT_MS_MAX && now - seen.since < CALL_MS_MAX
  }

  /** The time until a retry may observe the payment. 0 if it may now. */
  waitMs(identity: string, intervalMs = RETRY_MS): number {
    const observedAt = this.#observedAt.get(identity) ?? -Infinity
    return Math.max(0, observedAt + intervalMs - this.#options.monotonic())
  }

  noteObserved(identity: string): void {
    this.#observedAt.set(identity, this.#options.monotonic())
  }

  #signLater(): void {
    if (this.#isSigning) return
    this.#isSigning = true
    this.#options.timer(() => void this.#sign(), SIGN_MS)
  }

  /** A failed write is a sign that is late. */
  async #sign(): Promise<void> {
    const { log } = this.#options
    const isNeeded = this.#running.size > 0
    this.#signs += 1
    await log.setNote(signKey(this.process), isNeeded ? String(this.#signs) : undefined).catch(() => undefined)
    this.#isSigning = false
    if (this.#running.size > 0) this.#signLater()
  }
}

const signKey = (name: string) => `process/${name}`
