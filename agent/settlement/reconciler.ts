/**
 * Reconciles every record that is not final with the chain, at start and then every few seconds, without a request of
 * the buyer. The mutex of the payment is held meanwhile, so a concurrent retry waits for the result.
 */
import { LRUCache } from 'lru-cache'
import type { ResponseRecord } from '../../store/log/record.ts'
import { isFinal } from '../../store/log/states.ts'
import { countOpen } from '../../store/log/responses.ts'
import { groupsOf } from '../../base/groups-of.ts'
import type { Timer } from '../../base/runtime.ts'
import { deploysWallet, recordedPayment } from '../payment/recorded-payment.ts'
import { toMs } from './chain/clock.ts'
import { PAYMENTS_MAX } from './chain/view.ts'
import { awaitsRefusal } from './decide.ts'
import type { Observation } from './chain/observe.ts'
import { unlessUnreadable } from './chain/reader.ts'
import { findPayments, observeRecords, type ObservedRecord } from './observe-records.ts'
import { advance } from './record-decision.ts'
import type { SettlementServices } from './services.ts'
import { APART_MS } from './judge-denial.ts'
import { reconcileObserved } from './reconcile.ts'

const INTERVAL_MS = 10_000
const RECORDS_MAX = 1_000
/** Records that are acted on at the same time. A stop waits for them. */
const CONCURRENCY_MAX = 32
/** Failed observations of a run, after which the rest waits for the next run. Enough to find two payments of a part. */
const FAILURES_MAX = 16
/** The delay of a record is half its age, within these limits. Blocks on Base become final after about 15 minutes. */
const DELAY_MIN_MS = 10_000
const DELAY_MAX_MS = 120_000
/** For a record that failed. Shorter than a check fails before it alerts, so a single failure does not. */
const FAILED_MS = 60_000
/** For each open record, so that at most sixty a second are observed, up to the longest delay of a record. */
const DELAY_PER_RECORD_MS = 17
const DELAY_OPEN_MS_MAX = 1_800_000
/** No record is deferred for longer. One that is due later is due now: the clock was set back. */
const DEFERRED_MS_MAX = 2 * DELAY_OPEN_MS_MAX
/** For a settled record whose nonce is used: until its block is final, nothing is urgent. */
const DELAY_SEEN_MS_MAX = 900_000
/** Without records the chain is still observed, to check the clock. */
const CLOCK_CHECK_MS = 60_000
/** The age from which a payment counts as overdue. */
const OVERDUE_MS = 3_600_000
/** An entry outlives the longest delay, so it is renewed in time. */
const OVERDUE_ENTRIES = { max: 1_000, ttl: 2 * DELAY_OPEN_MS_MAX }
/** The latest authorization ends after an hour, and its block is final a quarter of an hour later. */
const OLD_MS = 2 * OVERDUE_MS
/** After its `validBefore` a payment ends with the next final block, whatever its buyer has done. */
const ENDED_MS_MAX = 1_800_000

interface ReconcilerOptions {
  services: SettlementServices
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
  /** Until when records are skipped that failed, by identity, on the monotonic clock. A payer can make a call fail. */
  readonly #failed = new Map<string, { until: number; isDamaged: boolean }>()
  /** Payments that have been open for long, or whose buyers have not prevented an outcome, by identity. */
  readonly #overdue = new LRUCache<string, { preparedAt: number; isUnexplained: boolean }>(OVERDUE_ENTRIES)
  /** On the monotonic clock. */
  #observedAt = -Infinity
  /** The largest difference of the local clock from the monotonic one. */
  #offsetMax = -Infinity
  /** The longest delay of a record that is not seen on chain. It grows with the number of open records. */
  #delayMaxMs = DELAY_MAX_MS
  /** The next one prefers another node, so a faulty node cannot keep a record open. */
  #lastObservation: Observation | undefined

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

  /** Whether a payment is open for longer than every payment should be. */
  hasOld(): boolean {
    return [...this.#overdue.values()].some(({ preparedAt }) => this.#time() - preparedAt > OLD_MS)
  }

  /** Whether a payment has no outcome, for another reason than what its buyer did. */
  hasUnexplained(): boolean {
    return [...this.#overdue.values()].some((each) => each.isUnexplained)
  }

  /** Whether records, or one of them, could not be read or written. */
  hasDamaged(): boolean {
    return [...this.#failed.values()].some(({ isDamaged }) => isDamaged)
  }

  async #run(): Promise<void> {
    const { log, monotonic, report, doubts } = this.#options.services
    try {
      const open = await countOpen(log)
      this.#delayMaxMs = Math.min(Math.max(DELAY_MAX_MS, open * DELAY_PER_RECORD_MS), DELAY_OPEN_MS_MAX)
      await this.#unlessFailed('doubts', () => doubts.review())
      for (let isMore = true; isMore && !this.#stopping.signal.aborted;) isMore = await this.#reconcileNext()
      if (monotonic() - this.#observedAt >= CLOCK_CHECK_MS) await this.#observe([])
    } catch (cause) {
      report('reconciler_failed', cause)
      this.#failed.set('run', { until: monotonic(), isDamaged: true })
    }
  }

  /** Returns whether more records may be due. */
  async #reconcileNext(): Promise<boolean> {
    const records = await this.#readDue()
    if (records.length === 0) return false
    const observed = await this.#observe(records)
    await forEach(observed.entries(), ([record, each]) => this.#reconcileOne(record, each))
    return records.length === RECORDS_MAX && observed.size === records.length
  }

  /** The local time, which never goes back: the monotonic clock plus the largest offset seen. */
  #time(): number {
    const { now, monotonic } = this.#options.services
    this.#offsetMax = Math.max(this.#offsetMax, now().getTime() - monotonic())
    return monotonic() + this.#offsetMax
  }

  /** The longest overdue first. */
  async #readDue(): Promise<ResponseRecord[]> {
    const { log, recentAttempts, monotonic } = this.#options.services
    for (const [identity, { until }] of this.#failed) if (until <= monotonic()) this.#failed.delete(identity)
    const [time, max] = [this.#time() + 1, RECORDS_MAX + this.#failed.size]
    const due = await log.list({ kind: 'open', dueBefore: new Date(time), max })
    const late = await log.list({ kind: 'open', dueAfter: new Date(time + DEFERRED_MS_MAX), max })
    const identities = [...due.identities, ...late.identities].slice(0, max)
    // By index, so that they keep their order.
    const read: (ResponseRecord | undefined)[] = []
    await forEach(identities.entries(), ([index, identity]) =>
      this.#unlessFailed(identity, async () => {
        const record = await log.read(identity)
        if (record && !recentAttempts.isInProgress(record)) read[index] = record
      }),
    )
    return read.filter((record) => record !== undefined).slice(0, RECORDS_MAX)
  }

  /** Without the records whose payments cannot be read. */
  async #observe(records: readonly ResponseRecord[]): Promise<Map<ResponseRecord, ObservedRecord>> {
    const { services } = this.#options
    const options = { withFinal: true, otherThan: this.#lastObservation }
    this.#observedAt = services.monotonic()
    const settled = records.filter(({ state }) => state === 'settled')
    const observed = await unlessUnreadable(services, () => findPayments(services, settled, options))
    if (!observed) return new Map()
    const parts = groupByCall(records.filter((record) => !observed.has(record)))
    let failures = 0
    while (failures < FAILURES_MAX) {
      const part = parts.shift()
      if (!part) break
      const states = await unlessUnreadable(services, () => observeRecords(services, part, options))
      states?.forEach((state, index) => observed.set(part[index] as ResponseRecord, state))
      if (states) continue
      failures += 1
      // One payment that cannot be read fails the whole part.
      const half = Math.ceil(part.length / 2)
      if (half < part.length) parts.unshift(part.slice(0, half), part.slice(half))
      else this.#failed.set(part[0]?.identity ?? '', { until: services.monotonic() + FAILED_MS, isDamaged: false })
    }
    this.#lastObservation = [...observed.values()].at(-1)?.observation ?? this.#lastObservation
    return observed
  }

  async #reconcileOne(record: ResponseRecord, observed: ObservedRecord): Promise<void> {
    const { services, runExclusively } = this.#options
    if (this.#stopping.signal.aborted) return
    // A record that has changed since it was read is not written.
    await this.#unlessFailed(record.identity, () =>
      runExclusively(record.payment_hash, async () => {
        const reconciled = await reconcileObserved(services, record, observed, { cause: 'reconciler' })
        await this.#defer(reconciled, observed)
      }),
    )
  }

  async #defer(record: ResponseRecord, observed: ObservedRecord): Promise<void> {
    const { services } = this.#options
    const { identity, prepared_at, state, updated_at } = record
    const preparedAt = Date.parse(prepared_at)
    const ageMs = this.#time() - preparedAt
    this.#overdue.delete(identity)
    if (isFinal(state)) return
    const overdue = { preparedAt, isUnexplained: isUnexplained(record, observed, this.#time()) }
    if (overdue.isUnexplained || ageMs >= OVERDUE_MS) this.#overdue.set(identity, overdue)
    const due_at = new Date(this.#time() + this.#delayOf(record, observed, ageMs)).toISOString()
    await advance(services, record, { state, updated_at, due_at })
  }

  #delayOf(record: ResponseRecord, { observation, isNonceUsed }: ObservedRecord, ageMs: number): number {
    const { state, updated_at, first_denial } = record
    const { validBefore } = recordedPayment(record).payment.payload.authorization
    const isSeen = state === 'settled' && isNonceUsed
    // A final block past the settlement confirms it, and one past `validBefore` ends an open payment.
    const expectedAt = isSeen ? Date.parse(updated_at) : Number(validBefore) * 1000
    const expectedMs = observation.final ? expectedAt - toMs(observation.final.time) : 0
    const delays = isSeen ? [DELAY_SEEN_MS_MAX] : [Math.abs(ageMs) / 2, this.#delayMaxMs]
    if (first_denial) delays.push(APART_MS)
    if (isSeen || expectedMs > 0) delays.push(expectedMs)
    return Math.max(DELAY_MIN_MS, Math.min(...delays))
  }

  /** A record can be corrupt, or the disk full. The other records are still reconciled. */
  async #unlessFailed(identity: string, work: () => Promise<void>): Promise<void> {
    const { monotonic, report } = this.#options.services
    if (this.#failed.has(identity)) return
    try {
      await work()
    } catch (cause) {
      report('record_not_reconciled', cause)
      this.#failed.set(identity, { until: monotonic() + FAILED_MS, isDamaged: true })
    }
  }
}

/** What one call observes: many payments, or one that awaits a refusal, because a call tries one transfer. */
function groupByCall(records: readonly ResponseRecord[]): ResponseRecord[][] {
  const together = records.filter((record) => !awaitsRefusal(record))
  return [...groupsOf(together, PAYMENTS_MAX), ...records.filter(awaitsRefusal).map((record) => [record])]
}

/** A buyer can empty the account, also for a block, use the nonce otherwise, or pay from a contract that refuses. */
function isUnexplained(record: ResponseRecord, { payer, isNonceUsed }: ObservedRecord, time: number): boolean {
  if (record.state !== 'unknown') return false
  const { value, validBefore } = recordedPayment(record).payment.payload.authorization
  const isContract = payer && (payer.codeBytes > 0 || deploysWallet(record))
  const isPrevented =
    isNonceUsed || !payer || isContract || payer.balance < BigInt(value) || record.reverts !== undefined
  return !isPrevented || time > Number(validBefore) * 1000 + ENDED_MS_MAX
}

/** Works on some entries at the same time. The workers share the iterator. */
async function forEach<Entry>(entries: IterableIterator<Entry>, work: (entry: Entry) => Promise<void>): Promise<void> {
  const workOn = async () => {
    for (const entry of entries) await work(entry)
  }
  await Promise.all(Array.from({ length: CONCURRENCY_MAX }, workOn))
}
