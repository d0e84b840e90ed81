/**
 * Reconciles every record that is not final with the chain, at start and then every few seconds, without a request of the
 * buyer. The mutex of the payment is held meanwhile, so a concurrent retry waits for the result.
 */
import type { ResponseRecord } from '../../store/record.ts'
import type { Timer } from '../../store/runtime.ts'
import { reconcile } from './reconcile.ts'
import type { PaymentServices } from './services.ts'

const INTERVAL_MS = 5_000
/** Random variation of a delay. Spreads the requests of several machines. */
const JITTER_SHARE = 0.2
/** Records in progress at the same time. A stop waits for them. */
const CONCURRENCY_MAX = 4
const RECORDS_PER_RUN_MAX = 200
/** The delay of a record doubles while its state stays the same. Blocks on Base become final after about 15 minutes. */
const DELAY_FIRST_MS = 5_000
const DELAY_MAX_MS = 120_000
/**
 * The reconciler skips a settlement that began less than this ago, because its request may still be running. Longer than
 * two facilitator calls. Settlements from before the start of this process are not skipped.
 */
const SETTLING_MS_MAX = 65_000

export interface ReconcilerOptions {
  payments: PaymentServices
  timer: Timer
  /** From 0 to below 1. */
  random: () => number
  /** Runs `work` under the mutex of the payload. Skips it if the mutex is held. */
  runExclusively: (paymentHash: string, work: () => Promise<void>) => Promise<void>
}

export interface Reconciler {
  /** Reconciles the records that are due, once. Never rejects. */
  reconcileDue(): Promise<void>
  /** Starts no further work, and resolves when the current work is recorded. */
  stop(): Promise<void>
}

export function startReconciler({ payments, timer, random, runExclusively }: ReconcilerOptions): Reconciler {
  const startedAt = payments.now().getTime()
  const jitter = (milliseconds: number) => Math.round(milliseconds * (1 + JITTER_SHARE * (2 * random() - 1)))
  const schedule = new ReconcileSchedule({ now: payments.now, jitter })
  const stopping = new AbortController()
  let lastRun: Promise<void> = Promise.resolve()
  let cancel = (): void => undefined

  function reconcileDue(): Promise<void> {
    lastRun = lastRun.then(run)
    return lastRun
  }

  async function run(): Promise<void> {
    if (stopping.signal.aborted) return
    try {
      const due = schedule
        .due(await payments.log.unfinished())
        .slice(0, RECORDS_PER_RUN_MAX)
        .values()
      await Promise.all(Array.from({ length: CONCURRENCY_MAX }, () => reconcileAll(due)))
    } catch (cause) {
      payments.report('reconciler_failed', cause)
    }
  }

  /** Concurrent calls share one iterator, so each record is reconciled once. */
  async function reconcileAll(identities: Iterator<string>): Promise<void> {
    for (let next = identities.next(); !next.done && !stopping.signal.aborted; next = identities.next())
      await reconcileOne(next.value)
  }

  async function reconcileOne(identity: string): Promise<void> {
    try {
      const record = await payments.log.read(identity)
      if (!record || isInProgress(record)) return
      await runExclusively(record.payment_hash, async () => {
        const after = await reconcile(payments, record)
        schedule.defer(identity, { isUnchanged: after.state === record.state })
      })
    } catch (cause) {
      // For example a corrupt record or a full disk. The other records are still reconciled.
      payments.report('record_not_reconciled', cause)
      schedule.defer(identity, { isUnchanged: true })
    }
  }

  /** Whether a request, of this or another process, may still be settling the record. */
  function isInProgress({ state, updated_at }: ResponseRecord): boolean {
    const now = payments.now().getTime()
    const updatedAt = Date.parse(updated_at)
    const age = now - updatedAt
    const isStarted = state === 'prepared' || state === 'settling'
    // If the clock was ahead at the start and was set back, `startedAt` is in the future and cannot be compared.
    const isSinceStart = updatedAt >= startedAt || startedAt > now
    return isStarted && isSinceStart && age >= 0 && age < SETTLING_MS_MAX
  }

  async function repeat(): Promise<void> {
    await reconcileDue()
    if (!stopping.signal.aborted) cancel = timer(() => void repeat(), jitter(INTERVAL_MS))
  }

  void repeat()
  return {
    reconcileDue,
    async stop() {
      stopping.abort()
      cancel()
      await lastRun
    },
  }
}

interface Delay {
  /** Reconciliations in a row that left the state unchanged. */
  count: number
  from: number
  until: number
}

/** When each record is due: after an exponential delay while its state stays the same. */
class ReconcileSchedule {
  readonly #now: () => Date
  readonly #jitter: (milliseconds: number) => number
  readonly #delays = new Map<string, Delay>()

  constructor({ now, jitter }: { now: () => Date; jitter: (milliseconds: number) => number }) {
    this.#now = now
    this.#jitter = jitter
  }

  /** Returns the identities that are due, the longest overdue first. Forgets all that are not listed. */
  due(identities: readonly string[]): string[] {
    const listed = new Set(identities)
    for (const identity of this.#delays.keys()) if (!listed.has(identity)) this.#delays.delete(identity)
    const dueAt = (identity: string) => this.#delays.get(identity)?.until ?? 0
    return identities.filter((identity) => this.#isDue(identity)).toSorted((one, other) => dueAt(one) - dueAt(other))
  }

  defer(identity: string, { isUnchanged }: { isUnchanged: boolean }): void {
    const count = isUnchanged ? (this.#delays.get(identity)?.count ?? 0) + 1 : 1
    const from = this.#now().getTime()
    const until = from + this.#jitter(Math.min(DELAY_FIRST_MS * 2 ** (count - 1), DELAY_MAX_MS))
    this.#delays.set(identity, { count, from, until })
  }

  #isDue(identity: string): boolean {
    const delay = this.#delays.get(identity)
    const now = this.#now().getTime()
    // If the clock is set back, the record is due at once.
    return !delay || now >= delay.until || now < delay.from
  }
}
