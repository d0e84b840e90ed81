/**
 * The response log: every response that a payment has bought or may have bought.
 *
 * A response is claimed under its payment's identity before the payment is settled. Every later transition is a
 * compare-and-set. The promise of a write resolves when it is on disk.
 */
import { setImmediate } from 'node:timers/promises'
import type { LogOwner } from './log-owner.ts'
import type { Claim, RecordChange, RecordState, RecordVersion, ResponseRecord, UnrecordedPayment } from './record.ts'

/** The interface of the log. LMDB and PostgreSQL implement it. */
export interface ResponseLog {
  /** Writes durably without an effect. Rejects if a sale could not be stored. */
  checkWritable(): Promise<void>
  /** The record of this payment, or else the record of the payment that has this payment id. */
  read(identity: string, paymentId?: string): Promise<ResponseRecord | undefined>
  /**
   * Stores the record of a new payment, and counts its sale in the limit of sales in a minute. If the identity or the
   * payment id is already taken, returns the existing record. Rejects when the disk is nearly full; existing records
   * can still be advanced then.
   */
  claim(record: ResponseRecord): Promise<Claim>
  /** The sales of the last minute, of all processes. A sale that becomes `refused` counts no longer (`keeps_sale`). */
  countSales(): Promise<number>
  /** The payments of one payer whose state is `unknown`. `prefix` is what their identities begin with. */
  countUnknown(prefix: string): Promise<number>
  /**
   * Changes a record that still has exactly this version. Undefined otherwise: read the record and decide again. A void
   * record that becomes `settled` is listed as unfinished again. A record that becomes `settled` takes its payment id
   * back unless another payment has it. A paid record that gets its receipt keeps its state.
   */
  advance(from: RecordVersion, change: RecordChange & { state: RecordState }): Promise<ResponseRecord | undefined>
  /**
   * The identities of the records whose state is not final. They are read one by one, so a corrupt one stops no other.
   */
  unfinished(): Promise<string[]>
  /**
   * Lists a settled payment without a record. Resolves with whether it is new in the list. Rejects if the list is full.
   */
  noteUnrecorded(payment: UnrecordedPayment): Promise<boolean>
  /** The list of {@link ResponseLog.noteUnrecorded}. */
  unrecorded(): Promise<UnrecordedPayment[]>
  /**
   * Removes at most `max` records that became final before `before`, oldest first, and unrecorded payments that were
   * found before it. Returns the number of removed records.
   */
  prune(request: { before: Date; max: number }): Promise<number>
  /** Undefined before the first start of a service. */
  owner(): Promise<LogOwner | undefined>
  /** Stores `next` if the log still has the owner `current`. Returns the owner that is stored afterwards. */
  setOwner(next: LogOwner, current: LogOwner | undefined): Promise<LogOwner>
  /** Some unfinished records and those that became final last. Damaged records are skipped. */
  newestRecords(): Promise<ResponseRecord[]>
  close(): Promise<void>
}

/** Bounds the list of payments without a record. It is longer than an operator can work through. */
export const UNRECORDED_MAX = 1_000
/** Bounds one read, so that other events run between reads. */
const KEYS_PER_READ_MAX = 1_000

/** All keys in their order. `read` returns at most `limit` keys after the key `last`. */
export async function listInParts(
  read: (last: string | undefined, limit: number) => Promise<string[]>,
): Promise<string[]> {
  const keys: string[] = []
  for (;;) {
    const next = await read(keys.at(-1), KEYS_PER_READ_MAX)
    keys.push(...next)
    if (next.length < KEYS_PER_READ_MAX) return keys
    await setImmediate()
  }
}
