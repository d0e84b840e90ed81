/**
 * Reconciles every record that is not final with the chain, at start and then every few seconds, without a request of the
 * buyer. The mutex of the payment is held meanwhile, so a concurrent retry waits for the result.
 */
import type { ResponseRecord } from '../../store/record.ts'
import type { Timer } from '../../store/runtime.ts'
import { isVersion } from '../../store/record.ts'
import { PAYMENTS_MAX } from '../chain/view.ts'
import type { SettlementServices } from './services.ts'
import { observeRecords, type ObservedRecord } from './observe.ts'
import { reconcileObserved } from './reconcile.ts'
import { isInProgress } from './retry.ts'

const INTERVAL_MS = 10_000
/** Random variation of a delay. Spreads the requests of several machines. */
const JITTER_SHARE = 0.2
/** Records that are acted on at the same time. A stop waits for them. */
const CONCURRENCY_MAX = 4
/** A run reads this share of the records that are due, but at least as many as one observation holds. */
const RUNS_FOR_ALL = 18
/** The delay of a record doubles while its state stays the same. Blocks on Base become final after about 15 minutes. */
const DELAY_FIRST_MS = 10_000
const DELAY_MAX_MS = 120_000
/** Nothing is urgent for a settled record: until its block is final, only an audit is due. */
const DELAY_SETTLED_MS_MAX = 300_000
/** Without records the chain is still observed, to check the clock. */
const CLOCK_CHECK_MS = 60_000

export interface ReconcilerOptions {
  payments: SettlementServices
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

interface Due {
  record: ResponseRecord
  observed: ObservedRecord
}

export function startReconciler({ payments, timer, random, runExclusively }: ReconcilerOptions): Reconciler {
  const { now, log, chain, report } = payments
  const jitter = (milliseconds: number) => Math.round(milliseconds * (1 + JITTER_SHARE * (2 * random() - 1)))
  const schedule = new ReconcileSchedule({ now, jitter })
  const stopping = new AbortController()
  let lastRun: Promise<void> = Promise.resolve()
  let cancel = (): void => undefined
  let observedAt = -Infinity
  /** The next run prefers another one, so that a node that lies cannot keep a record open. */
  let lastNode: number | undefined

  function reconcileDue(): Promise<void> {
    lastRun = lastRun.then(run)
    return lastRun
  }

  async function run(): Promise<void> {
    if (stopping.signal.aborted) return
    try {
      const due = schedule.due(await log.unfinished())
      const count = Math.max(PAYMENTS_MAX, Math.ceil(due.length / RUNS_FOR_ALL))
      for (let start = 0; start < Math.min(count, due.length); start += PAYMENTS_MAX)
        await reconcileBatch(due.slice(start, start + PAYMENTS_MAX))
      if (Math.abs(now().getTime() - observedAt) >= CLOCK_CHECK_MS) await checkClock()
    } catch (cause) {
      report('reconciler_failed', cause)
    }
  }

  async function reconcileBatch(identities: readonly string[]): Promise<void> {
    const records: ResponseRecord[] = []
    for (const identity of identities) {
      const record = await tryRead(identity)
      if (record && !isInProgress(payments, record)) records.push(record)
    }
    if (records.length === 0 || stopping.signal.aborted) return
    const observed = await observeRecords(payments, records, { withFinal: true, otherThan: lastNode })
    observedAt = now().getTime()
    lastNode = observed?.[0]?.observation.node
    if (!observed) return
    const due = records.map((record, index): Due => ({ record, observed: observed[index] as ObservedRecord })).values()
    await Promise.all(Array.from({ length: CONCURRENCY_MAX }, () => reconcileAll(due)))
  }

  /** A record can be corrupt. The others are still reconciled. */
  async function tryRead(identity: string): Promise<ResponseRecord | undefined> {
    try {
      return await log.read(identity)
    } catch (cause) {
      report('record_not_reconciled', cause)
      schedule.defer(identity, { isUnchanged: true })
      return undefined
    }
  }

  /** Concurrent calls share one iterator, so each record is reconciled once. */
  async function reconcileAll(due: Iterator<Due>): Promise<void> {
    for (let next = due.next(); !next.done && !stopping.signal.aborted; next = due.next())
      await reconcileOne(next.value)
  }

  async function reconcileOne({ record, observed }: Due): Promise<void> {
    const { identity } = record
    try {
      await runExclusively(record.payment_hash, async () => {
        const current = await log.read(identity)
        // What was observed of an earlier version says nothing about a later one.
        if (!isVersion(current, record)) return
        const after = await reconcileObserved(payments, current, observed, { cause: 'reconciler' })
        const isUnchanged = after.state === record.state
        schedule.defer(identity, {
          isUnchanged,
          maxMs: after.state === 'settled' ? DELAY_SETTLED_MS_MAX : DELAY_MAX_MS,
        })
      })
    } catch (cause) {
      // For example a full disk. The other records are still reconciled.
      report('record_not_reconciled', cause)
      schedule.defer(identity, { isUnchanged: true })
    }
  }

  async function checkClock(): Promise<void> {
    observedAt = now().getTime()
    await chain.observe([]).catch((cause: unknown) => report('chain_unavailable', cause))
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

  defer(identity: string, { isUnchanged, maxMs = DELAY_MAX_MS }: { isUnchanged: boolean; maxMs?: number }): void {
    const count = isUnchanged ? (this.#delays.get(identity)?.count ?? 0) + 1 : 1
    const from = this.#now().getTime()
    const until = from + this.#jitter(Math.min(DELAY_FIRST_MS * 2 ** (count - 1), maxMs))
    this.#delays.set(identity, { count, from, until })
  }

  #isDue(identity: string): boolean {
    const delay = this.#delays.get(identity)
    const now = this.#now().getTime()
    // If the clock is set back, the record is due at once.
    return !delay || now >= delay.until || now < delay.from
  }
}
