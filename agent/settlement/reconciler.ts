/**
 * Reconciles every record that is not final with the chain, at start and then every few seconds, without a request of
 * the buyer. The mutex of the payment is held meanwhile, so a concurrent retry waits for the result.
 */
import { LRUCache } from 'lru-cache'
import { isFinal, UNFINISHED_STATES, type RecordState, type ResponseRecord } from '../../store/log/record.ts'
import type { Timer } from '../../store/base/runtime.ts'
import { recordedPayment } from '../payment/recorded-payment.ts'
import type { Observation, ObserveOptions } from './chain/observe.ts'
import { PAYMENTS_MAX } from './chain/view.ts'
import { findSettled, observeRecords, unlessUnreadable, type ObservedRecord } from './observe-records.ts'
import { advance } from './record-decision.ts'
import type { PaymentServices } from './services.ts'
import { APART_MS, reconcileObserved } from './reconcile.ts'

const INTERVAL_MS = 10_000
/** Records that are acted on at the same time. A stop waits for them. */
const CONCURRENCY_MAX = 4
/** Settled records, which call no facilitator, and reads of the log. */
const SETTLED_AT_ONCE = 32
/** Settled records that are read and confirmed together. */
const SETTLED_MAX = 1_000
/** A run observes one 18th of the records on their own, but at least as many as one observation holds. */
const RUNS_FOR_ALL = 18
/** The delay of a record is half its age, within these limits. Blocks on Base become final after about 15 minutes. */
const DELAY_MIN_MS = 10_000
const DELAY_MAX_MS = 120_000
/** Nothing is urgent for a settled record: until its block is final, only an audit is due. */
const DELAY_SETTLED_MS_MAX = 300_000
/** For a settled record whose transfer is on chain. */
const DELAY_SEEN_MS_MAX = 900_000
/** Without records the chain is still observed, to check the clock. */
const CLOCK_CHECK_MS = 60_000
/** At once if the clock was set by more than this. */
const CLOCK_SET_MS = 5_000
/** Payments that have been open for so long are remembered for longer than they are deferred. */
const LONG_OPEN_MS = 3_600_000
const LONG_OPEN_PAYMENTS_MAX = 1_000

const OPEN_STATES = UNFINISHED_STATES.filter((state) => state !== 'settled')

interface ReconcilerOptions {
  payments: PaymentServices
  timer: Timer
  /** Runs `work` under the mutex of the payload. Skips it if the mutex is held. */
  runExclusively: (paymentHash: string, work: () => Promise<void>) => Promise<void>
}

/** `stop` resolves when the current work is recorded. */
export function startReconciler(options: ReconcilerOptions) {
  const reconciler = new Reconciler(options)
  void reconciler.repeat()
  return reconciler
}

class Reconciler {
  readonly #options: ReconcilerOptions
  readonly #stopping = new AbortController()
  #lastRun: Promise<void> = Promise.resolve()
  #cancel = (): void => undefined
  /** Until when records are skipped that could not be read or written, by identity. On the monotonic clock. */
  readonly #failed = new Map<string, number>()
  /** When payments that have been open for long were prepared, by identity. */
  readonly #longOpen = new LRUCache<string, number>({ max: LONG_OPEN_PAYMENTS_MAX, ttl: 2 * DELAY_SEEN_MS_MAX })
  /** On the monotonic clock. */
  #observedAt = -Infinity
  /** The local clock minus the monotonic one, at the last observation. */
  #clockOffset = 0
  #offsetMax = -Infinity
  /** The next run prefers another one, so a faulty node cannot keep a record open. */
  #lastNode: number | undefined

  constructor(options: ReconcilerOptions) {
    this.#options = options
  }

  /** Reconciles the records that are due, once. Never rejects. */
  reconcileDue(): Promise<void> {
    this.#lastRun = this.#lastRun.then(() => this.#run())
    return this.#lastRun
  }

  async repeat(): Promise<void> {
    await this.reconcileDue()
    if (this.#stopping.signal.aborted) return
    this.#cancel = this.#options.timer(() => void this.repeat(), INTERVAL_MS)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#cancel()
    await this.#lastRun
  }

  /** When the oldest of the payments was stored that have been open for an hour, in milliseconds. Else Infinity. */
  oldestOpen(): number {
    return Math.min(...this.#longOpen.values())
  }

  async #run(): Promise<void> {
    if (this.#stopping.signal.aborted) return
    const { log, report } = this.#options.payments
    try {
      const missing = await this.#reconcileSettled()
      const unfinished = [...(await log.countUnfinished()).values()].reduce((sum, count) => sum + count, 0)
      const max = Math.max(PAYMENTS_MAX, Math.ceil(unfinished / RUNS_FOR_ALL))
      const due = [...missing, ...(await this.#readDue(OPEN_STATES, max))]
      const longestFirst = due.toSorted((one, other) => (dueTime(one) < dueTime(other) ? -1 : 1)).slice(0, max)
      for (let start = 0; start < longestFirst.length; start += PAYMENTS_MAX)
        await this.#reconcileEach(longestFirst.slice(start, start + PAYMENTS_MAX))
      if (this.#isClockCheckDue())
        await this.#observeWith((options) => this.#options.payments.chain.observe([], options))
    } catch (cause) {
      report('reconciler_failed', cause)
    }
  }

  /** Reconciles settled records whose transfers the logs of the chain show. Returns the others that were due. */
  async #reconcileSettled(): Promise<ResponseRecord[]> {
    const { payments } = this.#options
    for (;;) {
      const records = await this.#readDue(['settled'], SETTLED_MAX)
      if (records.length === 0) return []
      const observation = await this.#observeWith((options) => payments.chain.observe([], options))
      if (!observation) return []
      this.#lastNode = observation.node
      const found = await findSettled(payments, records, observation)
      await forEach(records.entries(), SETTLED_AT_ONCE, async ([index, record]) => {
        const observed = found[index]
        if (observed) await this.#reconcileOne(record, observed, { isSeen: true })
      })
      const missing = records.filter((_, index) => !found[index])
      if (records.length < SETTLED_MAX || missing.length > 0 || this.#stopping.signal.aborted) return missing
    }
  }

  async #reconcileEach(records: readonly ResponseRecord[]): Promise<void> {
    const { payments } = this.#options
    if (this.#stopping.signal.aborted) return
    const observed = (await this.#observeWith((options) => observeRecords(payments, records, options))) ?? []
    this.#lastNode = observed[0]?.observation.node ?? this.#lastNode
    await forEach(observed.entries(), CONCURRENCY_MAX, ([index, each]) =>
      this.#reconcileOne(records[index] as ResponseRecord, each, { isSeen: false }),
    )
  }

  #isClockCheckDue(): boolean {
    const { monotonic } = this.#options.payments
    const isSet = Math.abs(this.#readClockOffset() - this.#clockOffset) > CLOCK_SET_MS
    return isSet || monotonic() - this.#observedAt >= CLOCK_CHECK_MS
  }

  /** The local clock, which goes on here when it is set back. */
  #time(): number {
    this.#offsetMax = Math.max(this.#offsetMax, this.#readClockOffset())
    return this.#options.payments.monotonic() + this.#offsetMax
  }

  #readClockOffset(): number {
    const { now, monotonic } = this.#options.payments
    return now().getTime() - monotonic()
  }

  /** The longest overdue first. */
  async #readDue(states: readonly RecordState[], max: number): Promise<ResponseRecord[]> {
    const { log, recentAttempts, monotonic } = this.#options.payments
    for (const [identity, until] of this.#failed) if (until <= monotonic()) this.#failed.delete(identity)
    const before = new Date(this.#time() + 1)
    const identities = await log.due({ states, before, max: max + this.#failed.size })
    const records: (ResponseRecord | undefined)[] = []
    await forEach(identities.entries(), SETTLED_AT_ONCE, ([index, identity]) =>
      this.#unlessFailed(identity, async () => void (records[index] = await log.read(identity))),
    )
    return records.filter((record) => record !== undefined && !recentAttempts.isInProgress(record)) as ResponseRecord[]
  }

  /** Undefined if the chain cannot be read. */
  async #observeWith<Result>(observe: (options: ObserveOptions) => Promise<Result>): Promise<Result | undefined> {
    const { payments } = this.#options
    this.#observedAt = payments.monotonic()
    this.#clockOffset = this.#readClockOffset()
    return unlessUnreadable(payments, () => observe({ withFinal: true, otherThan: this.#lastNode }))
  }

  async #reconcileOne(
    record: ResponseRecord,
    observed: ObservedRecord,
    { isSeen }: { isSeen: boolean },
  ): Promise<void> {
    const { payments, runExclusively } = this.#options
    if (this.#stopping.signal.aborted) return
    // A record that has changed since it was read is not written.
    await this.#unlessFailed(record.identity, () =>
      runExclusively(record.payment_hash, async () => {
        const reconciled = await reconcileObserved(payments, record, observed, { cause: 'reconciler' })
        await this.#defer(reconciled, observed.observation, isSeen)
      }),
    )
  }

  async #defer(record: ResponseRecord, observation: Observation, isSeen: boolean): Promise<void> {
    const { payments } = this.#options
    const { identity, prepared_at, state, updated_at } = record
    const time = this.#time()
    const preparedAt = Date.parse(prepared_at)
    this.#longOpen.delete(identity)
    if (isFinal(state)) return
    if (time - preparedAt >= LONG_OPEN_MS) this.#longOpen.set(identity, preparedAt)
    const delayMs = isSeen
      ? Math.min(DELAY_SEEN_MS_MAX, untilFinalMs(record, observation))
      : delayOf(record, observation, Math.abs(time - preparedAt) / 2)
    const due_at = new Date(time + Math.max(delayMs, DELAY_MIN_MS)).toISOString()
    await advance(payments, record, { state, updated_at, due_at })
  }

  /** A record can be corrupt, or the disk full. The other records are still reconciled. */
  async #unlessFailed(identity: string, work: () => Promise<void>): Promise<void> {
    const { monotonic, report } = this.#options.payments
    if (this.#failed.has(identity)) return
    try {
      await work()
    } catch (cause) {
      report('record_not_reconciled', cause)
      this.#failed.set(identity, monotonic() + DELAY_MAX_MS)
    }
  }
}

const dueTime = ({ due_at, prepared_at }: ResponseRecord) => due_at ?? prepared_at

function delayOf(record: ResponseRecord, { final }: Observation, half: number): number {
  const maxMs = record.state === 'settled' ? DELAY_SETTLED_MS_MAX : DELAY_MAX_MS
  // A final block past `validBefore` ends an open payment.
  const { validBefore } = recordedPayment(record).payment.payload.authorization
  const untilEndMs = final ? Number(BigInt(validBefore) - final.time) * 1000 : 0
  const delays = [half, maxMs, ...(untilEndMs > 0 ? [untilEndMs] : []), ...(record.first_denial ? [APART_MS] : [])]
  return Math.min(...delays)
}

/** If the block time that becomes final grows like the clock. */
function untilFinalMs({ updated_at }: ResponseRecord, { final }: Observation): number {
  return final ? Date.parse(updated_at) - Number(final.time) * 1000 : 0
}

/** Works on some entries at the same time. The workers share one iterator. */
async function forEach<Entry>(
  entries: Iterator<Entry> & Iterable<Entry>,
  count: number,
  work: (entry: Entry) => Promise<void>,
): Promise<void> {
  const workOn = async () => {
    for (const entry of entries) await work(entry)
  }
  await Promise.all(Array.from({ length: count }, workOn))
}
