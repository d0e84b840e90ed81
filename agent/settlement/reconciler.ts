/**
 * Reconciles every record that is not final with the chain, at start and then every few seconds, without a request of
 * the buyer. The mutex of the payment is held meanwhile, so a concurrent retry waits for the result.
 */
import { isVersion, type ResponseRecord } from '../../store/log/record.ts'
import type { Timer } from '../../store/base/runtime.ts'
import { PAYMENTS_MAX } from './chain/view.ts'
import { observeRecords, unlessUnreadable, type ObservedRecord } from './observe-records.ts'
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

interface ReconcilerOptions {
  payments: PaymentServices
  timer: Timer
  /** Runs `work` under the mutex of the payload. Skips it if the mutex is held. */
  runExclusively: (paymentHash: string, work: () => Promise<void>) => Promise<void>
}

/** `stop` resolves when the current work is recorded. */
export function startReconciler({ payments, timer, runExclusively }: ReconcilerOptions) {
  const { now, monotonic, log, report } = payments
  const stopping = new AbortController()
  let lastRun: Promise<void> = Promise.resolve()
  let cancel = (): void => undefined
  /**
   * When each record is due, by identity. On the monotonic clock, like `observedAt`. A record without an entry is due.
   */
  let dueTimes = new Map<string, number>()
  let observedAt = -Infinity
  /** The next run prefers another one, so a faulty node cannot keep a record open. */
  let lastNode: number | undefined

  /** Reconciles the records that are due, once. Never rejects. */
  function reconcileDue(): Promise<void> {
    lastRun = lastRun.then(run)
    return lastRun
  }

  async function run(): Promise<void> {
    if (stopping.signal.aborted) return
    try {
      const due = findDue(await log.unfinished())
      const count = Math.max(PAYMENTS_MAX, Math.ceil(due.length / RUNS_FOR_ALL))
      for (let start = 0; start < Math.min(count, due.length); start += PAYMENTS_MAX)
        await reconcileBatch(due.slice(start, start + PAYMENTS_MAX))
      if (monotonic() - observedAt >= CLOCK_CHECK_MS) await observe([])
    } catch (cause) {
      report('reconciler_failed', cause)
    }
  }

  /** The longest overdue first. */
  function findDue(identities: readonly string[]): string[] {
    dueTimes = new Map(identities.map((identity) => [identity, dueTimes.get(identity) ?? -Infinity]))
    const due = [...dueTimes].filter(([, time]) => time <= monotonic())
    return due.toSorted(([, one], [, other]) => one - other).map(([identity]) => identity)
  }

  function defer({ identity, prepared_at, state }: ResponseRecord): void {
    const half = Math.abs(now().getTime() - Date.parse(prepared_at)) / 2
    const maxMs = state === 'settled' ? DELAY_SETTLED_MS_MAX : DELAY_MAX_MS
    dueTimes.set(identity, observedAt + Math.min(Math.max(half, DELAY_MIN_MS), maxMs))
  }

  async function reconcileBatch(identities: readonly string[]): Promise<void> {
    const records: ResponseRecord[] = []
    for (const identity of identities) {
      await unlessFailed(identity, async () => {
        const record = await log.read(identity)
        if (record && !payments.pastObservations.isInProgress(record)) records.push(record)
      })
    }
    if (records.length === 0 || stopping.signal.aborted) return
    // Concurrent workers share one iterator, so each record is reconciled once.
    const queue = (await observe(records)).entries()
    const work = async () => {
      for (const [index, observed] of queue) {
        if (stopping.signal.aborted) return
        await reconcileOne(records[index] as ResponseRecord, observed)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY_MAX }, work))
  }

  async function observe(records: readonly ResponseRecord[]): Promise<ObservedRecord[]> {
    observedAt = monotonic()
    const options = { withFinal: true, otherThan: lastNode }
    const observed = (await unlessUnreadable(payments, () => observeRecords(payments, records, options))) ?? []
    lastNode = observed[0]?.observation.node
    return observed
  }

  function reconcileOne(record: ResponseRecord, observed: ObservedRecord): Promise<void> {
    return unlessFailed(record.identity, () =>
      runExclusively(record.payment_hash, async () => {
        const current = await log.read(record.identity)
        // The observation belongs to the version that was read before. A record that has changed since is skipped.
        if (!isVersion(current, record)) return
        defer(await reconcileObserved(payments, current, observed, { cause: 'reconciler' }))
      }),
    )
  }

  /** A record can be corrupt, or the disk full. The other records are still reconciled. */
  async function unlessFailed(identity: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (cause) {
      report('record_not_reconciled', cause)
      dueTimes.set(identity, monotonic() + DELAY_MAX_MS)
    }
  }

  async function repeat(): Promise<void> {
    await reconcileDue()
    if (!stopping.signal.aborted) cancel = timer(() => void repeat(), INTERVAL_MS)
  }

  void repeat()
  return {
    reconcileDue,
    async stop(): Promise<void> {
      stopping.abort()
      cancel()
      await lastRun
    },
  }
}
