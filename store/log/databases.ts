/** The databases of the response log in LMDB. `store/files/layout.ts` lists their keys and values. */
import type { Database, RootDatabase } from 'lmdb'
import { DAY_MS } from '../base/day.ts'
import { CorruptRecordError, undefinedIfCorrupt } from '../files/checksum.ts'
import { finishedKey } from '../files/layout.ts'
import type { ResponseRecord, UnrecordedPayment } from './record.ts'

/**
 * An entry for each final record that is written or removed, or that stops being final. An incremental backup copies
 * the records of the entries since its parent. Other records need none: each backup copies all of them.
 */
interface Change {
  readonly identity: string
  /** ISO 8601, in UTC. */
  readonly at: string
}

/** Longer than the week for which incremental backups build on a full one. */
const CHANGES_KEPT_MS = 8 * DAY_MS
const CHANGES_PER_REMOVAL = 50

export type LogDatabases = ReturnType<typeof openDatabases>

/** When only reading, a database that the log does not have is undefined. */
export function openDatabases(environment: RootDatabase<unknown, string>) {
  return {
    environment,
    records: environment.openDB<Buffer, string>({ name: 'records', encoding: 'binary' }),
    unfinished: environment.openDB<true, string>({ name: 'unfinished', encoding: 'json' }),
    finished: environment.openDB<true, string>({ name: 'finished', encoding: 'json' }),
    paymentIds: environment.openDB<string, string>({ name: 'payment-ids', encoding: 'json' }),
    unrecorded: environment.openDB<UnrecordedPayment, string>({ name: 'unrecorded', encoding: 'json' }),
    changes: environment.openDB<Change, number>({ name: 'changes', encoding: 'json' }),
  }
}

/** Call inside a transaction. Never removes the newest change, so no number is used twice. */
export function noteChanges(changes: Database<Change, number>, now: Date, identities: readonly string[]): void {
  const [newest = 0] = changes.getKeys({ reverse: true, limit: 1 })
  // Not each time, because reading a range takes longer than a write.
  const oldest = newest % CHANGES_PER_REMOVAL === 0 ? [...changes.getKeys({ limit: 4 * CHANGES_PER_REMOVAL })] : []
  for (const key of oldest) if (key < newest && isOld(changes, key, now)) void changes.remove(key)
  for (const [index, identity] of identities.entries())
    void changes.put(newest + index + 1, { identity, at: now.toISOString() })
}

/** False for a damaged change. It stays, so that an increment that needs it fails, but no final outcome fails. */
function isOld(changes: Database<Change, number>, key: number, now: Date): boolean {
  try {
    // A time far in the future was written while the clock was wrong.
    return Math.abs(now.getTime() - Date.parse(changes.get(key)?.at ?? '')) > CHANGES_KEPT_MS
  } catch {
    return false
  }
}

/**
 * The identity of the record that has a payment id.
 * @throws CorruptRecordError
 */
export function holderOf(paymentId: string, { paymentIds }: LogDatabases): string | undefined {
  try {
    return paymentIds.get(paymentId)
  } catch (cause) {
    throw new CorruptRecordError('A payment id cannot be read', { cause })
  }
}

/** Inside a transaction. Removes a record from all but `records` and `unfinished`. */
export function removeFromIndexes(record: ResponseRecord, databases: LogDatabases): void {
  void databases.finished.remove(finishedKey(record))
  const { identity, payment_id } = record
  if (payment_id !== undefined && undefinedIfCorrupt(() => holderOf(payment_id, databases)) === identity)
    void databases.paymentIds.remove(payment_id)
}
