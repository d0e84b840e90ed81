/**
 * The changes of final records in the log of LMDB, from which an incremental backup finds what an earlier one lacks.
 * Other records have no entries, because each backup copies all of them.
 */
import { randomUUID } from 'node:crypto'
import type { Database, RootDatabase } from 'lmdb'
import { DAY_MS } from '../base/day.ts'
import { EPOCH_KEY } from '../files/layout.ts'

/** A final record was written or removed, or became one that is not final. */
export interface Change {
  readonly identity: string
  /** What it adds to the number of final records: 1, 0 or -1. */
  readonly finals: number
  /** ISO 8601, in UTC. */
  readonly at: string
}

/** Longer than the week for which incremental backups build on a full one. */
const KEPT_MS = 8 * DAY_MS

/** Gives the log an id if it has none: a new log, a restored one, or one of an earlier version. */
export function ensureEpoch(environment: RootDatabase<unknown, string>): void {
  if (environment.get(EPOCH_KEY) !== undefined) return
  environment.transactionSync(() => {
    if (environment.get(EPOCH_KEY) === undefined) environment.putSync(EPOCH_KEY, randomUUID())
  })
}

function newestNumber(changes: Database<Change, number>): number {
  const [newest = 0] = changes.getKeys({ reverse: true, limit: 1 })
  return newest
}

/** Inside a transaction. */
export function noteChanges(changes: Database<Change, number>, now: Date, added: readonly Omit<Change, 'at'>[]): void {
  let number = newestNumber(changes)
  const at = now.toISOString()
  for (const change of added) void changes.put(++number, { ...change, at })
}

/** Inside a transaction. The newest change stays, so that no number is used twice. */
export function removeOldChanges(changes: Database<Change, number>, { now, max }: { now: Date; max: number }): number {
  const before = new Date(now.getTime() - KEPT_MS).toISOString()
  const first = [...changes.getRange({ end: newestNumber(changes), limit: max })]
  const old = first.filter(({ value }) => value.at < before)
  for (const { key } of old) void changes.remove(key)
  return old.length
}
