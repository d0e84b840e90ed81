/**
 * Reconciles every record that is not final with the chain, at start and then every few seconds, without a request of
 * the buyer. The mutex of the payment is held meanwhile, so a concurrent retry waits for the result.
 */
import { isVersion, type ResponseRecord } from '../../store/log/record.ts'
import type { Timer } from '../../store/base/runtime.ts'
import { recordedPayment } from '../payment/recorded-payment.ts'
import type { Observation } from './chain/observe.ts'
import { PAYMENTS_MAX } from './chain/view.ts'
import { observeRecords, unlessUnreadable, type ObservedRecord } from './observe-records.ts'
import { APART_MS } from './past-observations.ts'
import type { PaymentServices } from './services.ts'
import { reconcileObserved } from './reconcile.ts'

const INTERVAL_MS = 10_000
/** Records that are acted on at the same time. A stop waits for them. */
const CONCURRENCY_MAX = 4
/** A run reads one 18th of the records that are due, but at least as many as one observation holds. */
const RUNS_FOR_ALL = 18
/** The delay of a record is half its age, within these limits. Blocks on Base become final after about 15 minutes. */
const DELAY_MIN_MS = 10_000
const DELAY_MAX_MS = 120_000
/** Nothing is urgent for a settled record: until its block is final, only an audit is due. */
const DELAY_SETTLED_MS_MAX = 300_000
/** Without records the chain is still observed, to check the clock. */
const CLOCK_CHECK_MS = 60_000
/** At once if the clock was set by more than this. */
const CLOCK_SET_MS = 5_000

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
  /**
   * When each record is due, by identity. On the monotonic clock, like `#observedAt`. A record without an entry is due.
   */
  #dueTimes = new Map<string, number>()
  #observedAt = -Infinity
  /** The local clock minus the monotonic one, at the last observation. */
  #clockOffset = 0
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

  async #run(): Promise<void> {
    if (this.#stopping.signal.aborted) return
    const { log, report } = this.#options.payments
    try {
      const due = this.#findDue(await log.unfinished())
      const count = Math.max(PAYMENTS_MAX, Math.ceil(due.length / RUNS_FOR_ALL))
      for (let start = 0; start < Math.min(count, due.length); start += PAYMENTS_MAX)
        await this.#reconcileBatch(due.slice(start, start + PAYMENTS_MAX))
      if (this.#isClockCheckDue()) await this.#observe([])
    } catch (cause) {
      report('reconciler_failed', cause)
    }
  }

  #isClockCheckDue(): boolean {
    const { monotonic } = this.#options.payments
    const isSet = Math.abs(this.#readClockOffset() - this.#clockOffset) > CLOCK_SET_MS
    return isSet || monotonic() - this.#observedAt >= CLOCK_CHECK_MS
  }

  #readClockOffset(): number {
    const { now, monotonic } = this.#options.payments
    return now().getTime() - monotonic()
  }

  /** The longest overdue first. */
  #findDue(identities: readonly string[]): string[] {
    const now = this.#options.payments.monotonic()
    this.#dueTimes = new Map(identities.map((identity) => [identity, this.#dueTimes.get(identity) ?? -Infinity]))
    const due = [...this.#dueTimes].filter(([, time]) => time <= now)
    return due.toSorted(([, one], [, other]) => one - other).map(([identity]) => identity)
  }

  #defer(record: ResponseRecord, { final }: Observation): void {
    const { now, pastObservations } = this.#options.payments
    const { identity, prepared_at, state } = record
    const half = Math.abs(now().getTime() - Date.parse(prepared_at)) / 2
    const maxMs = state === 'settled' ? DELAY_SETTLED_MS_MAX : DELAY_MAX_MS
    // A final block past `validBefore` ends an open payment.
    const { validBefore } = recordedPayment(record).payment.payload.authorization
    const untilEndMs = final ? Number(BigInt(validBefore) - final.time) * 1000 : 0
    const delays = [half, maxMs, ...(untilEndMs > 0 ? [untilEndMs] : [])]
    if (pastObservations.isDenied(identity)) delays.push(APART_MS)
    this.#dueTimes.set(identity, this.#observedAt + Math.max(Math.min(...delays), DELAY_MIN_MS))
  }

  async #reconcileBatch(identities: readonly string[]): Promise<void> {
    const { log, pastObservations } = this.#options.payments
    const records: ResponseRecord[] = []
    for (const identity of identities) {
      await this.#unlessFailed(identity, async () => {
        const record = await log.read(identity)
        if (record && !pastObservations.isInProgress(record)) records.push(record)
      })
    }
    if (records.length === 0 || this.#stopping.signal.aborted) return
    // Concurrent workers share one iterator, so each record is reconciled once.
    const queue = (await this.#observe(records)).entries()
    const work = async () => {
      for (const [index, observed] of queue) {
        if (this.#stopping.signal.aborted) return
        await this.#reconcileOne(records[index] as ResponseRecord, observed)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY_MAX }, work))
  }

  async #observe(records: readonly ResponseRecord[]): Promise<ObservedRecord[]> {
    const { payments } = this.#options
    this.#observedAt = payments.monotonic()
    this.#clockOffset = this.#readClockOffset()
    const options = { withFinal: true, otherThan: this.#lastNode }
    const observed = (await unlessUnreadable(payments, () => observeRecords(payments, records, options))) ?? []
    this.#lastNode = observed[0]?.observation.node ?? this.#lastNode
    return observed
  }

  #reconcileOne(record: ResponseRecord, observed: ObservedRecord): Promise<void> {
    const { payments, runExclusively } = this.#options
    return this.#unlessFailed(record.identity, () =>
      runExclusively(record.payment_hash, async () => {
        const current = await payments.log.read(record.identity)
        // The observation belongs to the version that was read before. A record that has changed since is skipped.
        if (!isVersion(current, record)) return
        const reconciled = await reconcileObserved(payments, current, observed, { cause: 'reconciler' })
        this.#defer(reconciled, observed.observation)
      }),
    )
  }

  /** A record can be corrupt, or the disk full. The other records are still reconciled. */
  async #unlessFailed(identity: string, work: () => Promise<void>): Promise<void> {
    const { monotonic, report } = this.#options.payments
    try {
      await work()
    } catch (cause) {
      report('record_not_reconciled', cause)
      this.#dueTimes.set(identity, monotonic() + DELAY_MAX_MS)
    }
  }
}
