/**
 * Asks the chain about every record that is not finished, at start and then every few seconds, without waiting for the
 * buyer to come back. Clock, timer and randomness are arguments, and each record is worked on under its own turn, so that
 * a retry that comes meanwhile waits for the result.
 */
import type { ResponseRecord } from '../../store/record.ts'
import type { Timer } from './facilitator.ts'
import { reconcile } from './reconcile.ts'
import type { PaymentDesk } from './settle.ts'

const ROUND_EVERY_MS = 5_000
/** So that several machines do not all ask at once. */
const JITTER_SHARE = 0.2
/** Records asked about at the same time; a round may hold up a stop by as long as one of them takes. */
const CONCURRENCY_MAX = 4
const RECORDS_PER_ROUND_MAX = 200
/** A record that stays as it is is asked about ever less often. Final blocks come after a quarter of an hour on Base. */
const WAIT_FIRST_MS = 5_000
const WAIT_MAX_MS = 120_000
/**
 * How long a settlement that was begun since this process started is left to whoever began it: as long as a facilitator
 * may take, twice. What was begun before has nobody left.
 */
const SETTLING_MS_MAX = 65_000

export interface Reconciliation {
  desk: PaymentDesk
  timer: Timer
  /** From 0 to below 1. */
  random: () => number
  /** Runs the work unless the payment is being worked on already, and keeps others from it meanwhile. */
  alone: (identity: string, work: () => Promise<void>) => Promise<void>
}

export interface Reconciler {
  /** Looks once at what is due. Never rejects. */
  round(): Promise<void>
  /** Begins nothing more, and resolves when what was begun is on record. */
  stop(): Promise<void>
}

interface Wait {
  looks: number
  from: number
  until: number
}

export function openReconciler({ desk, timer, random, alone }: Reconciliation): Reconciler {
  const startedAt = desk.now().getTime()
  const waits = new Map<string, Wait>()
  const stopping = new AbortController()
  let underWay: Promise<void> = Promise.resolve()
  let cancel = (): void => undefined

  /** One round after another, however they come to be asked for. */
  function round(): Promise<void> {
    underWay = underWay.then(lookAround)
    return underWay
  }

  async function lookAround(): Promise<void> {
    if (stopping.signal.aborted) return
    try {
      const identities = await desk.log.unfinished()
      forget(identities)
      // Who has waited longest comes first: in the order of keys the last would never have their turn.
      const due = identities
        .filter(isDue)
        .toSorted((one, other) => dueAt(one) - dueAt(other))
        .slice(0, RECORDS_PER_ROUND_MAX)
      const next = due.values()
      await Promise.all(Array.from({ length: CONCURRENCY_MAX }, () => workThrough(next)))
    } catch (cause) {
      desk.report('reconciler_failed', cause)
    }
  }

  async function workThrough(identities: Iterator<string>): Promise<void> {
    for (let next = identities.next(); !next.done && !stopping.signal.aborted; next = identities.next())
      await look(next.value)
  }

  async function look(identity: string): Promise<void> {
    try {
      await alone(identity, async () => {
        const record = await desk.log.read(identity)
        if (!record || isLeftAlone(record)) return
        const after = await reconcile(desk, record)
        plan(identity, after.state === record.state)
      })
    } catch (cause) {
      // A damaged record, or a full disk: the others are looked at all the same.
      desk.report('record_not_reconciled', cause)
      plan(identity, true)
    }
  }

  /** A settlement under way somewhere else is not ours to judge yet. */
  function isLeftAlone({ state, updated_at }: ResponseRecord): boolean {
    const begunAt = Date.parse(updated_at)
    const age = desk.now().getTime() - begunAt
    const isBegun = state === 'prepared' || state === 'settling'
    return isBegun && begunAt >= startedAt && age >= 0 && age < SETTLING_MS_MAX
  }

  function dueAt(identity: string): number {
    return waits.get(identity)?.until ?? 0
  }

  function isDue(identity: string): boolean {
    const wait = waits.get(identity)
    const now = desk.now().getTime()
    // A clock that was set back must not prolong a wait.
    return !wait || now >= wait.until || now < wait.from
  }

  function plan(identity: string, isSame: boolean): void {
    const looks = isSame ? (waits.get(identity)?.looks ?? 0) + 1 : 1
    const from = desk.now().getTime()
    waits.set(identity, {
      looks,
      from,
      until: from + jittered(Math.min(WAIT_FIRST_MS * 2 ** (looks - 1), WAIT_MAX_MS)),
    })
  }

  function forget(identities: readonly string[]): void {
    const known = new Set(identities)
    for (const identity of waits.keys()) if (!known.has(identity)) waits.delete(identity)
  }

  function jittered(milliseconds: number): number {
    return Math.round(milliseconds * (1 + JITTER_SHARE * (2 * random() - 1)))
  }

  async function begin(): Promise<void> {
    await round()
    if (!stopping.signal.aborted) cancel = timer(() => void begin(), jittered(ROUND_EVERY_MS))
  }

  void begin()
  return {
    round,
    async stop() {
      stopping.abort()
      cancel()
      await underWay
    },
  }
}
