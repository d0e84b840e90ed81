/**
 * The response log: every response that a payment has bought or may have bought.
 *
 * A response is claimed under its payment's identity before the payment is settled. Every later transition is a
 * compare-and-set. The promise of a write resolves when it is on disk.
 */
import type { LogOwner } from './log-owner.ts'
import type { Claim, RecordChange, RecordState, ResponseRecord, UnrecordedPayment } from './record.ts'

/** A public key of the service. A key that was announced stays, and stays compromised. */
export interface AnnouncedKey {
  readonly kid: string
  /** Without private members. */
  readonly jwk: Readonly<Record<string, string>>
  /** When the log first got it, by the clock of the log. Like all times, ISO 8601 in UTC. */
  readonly announced_at: string
  /** When it became known that others may have the private key. Null for a key that only this service has. */
  readonly compromised_at: string | null
}

/** The interface of the log. LMDB and PostgreSQL implement it. */
export interface ResponseLog {
  /** Writes durably without an effect. Rejects if a sale could not be stored. */
  checkWritable(): Promise<void>
  /** The record of this payment, or else the record of the payment that has this payment id. */
  read(identity: string, paymentId?: string): Promise<ResponseRecord | undefined>
  /**
   * Stores the record of a new payment. If the identity or the payment id is already taken, returns the existing
   * record. Rejects when the disk is nearly full, in which existing records can still be advanced, and when the log has
   * another receiver.
   * @example
   * const claim = await log.claim(record)
   * if (claim.kind === 'taken') return replay(claim.record)
   */
  claim(record: ResponseRecord): Promise<Claim>
  /** The payments of one payer whose state is `unknown`. `prefix` is what their identities begin with. */
  countUnknown(prefix: string): Promise<number>
  /**
   * Changes a record that was read or written, and that still has this version. Undefined otherwise: read the record
   * and decide again. A void record that becomes `settled` is listed as unfinished again, and takes its payment id back
   * unless another payment has it. A record keeps its state when a paid one gets its receipt, and when an unfinished
   * one gets `due_at` or `first_denial`, which end with the state.
   * @example
   * const settled = await log.advance(record, { state: 'settled', payment_response, updated_at })
   * const { state, updated_at } = settled
   * await log.advance(settled, { state, updated_at, due_at: '2026-01-01T00:15:00.000Z' })
   */
  advance(from: ResponseRecord, change: RecordChange): Promise<ResponseRecord | undefined>
  /**
   * The identities of the records whose state is not final. They are read one by one, so a corrupt one stops no other.
   */
  unfinished(): Promise<string[]>
  /**
   * At most `max` of them that are due before a time, earliest first. A record without `due_at` has been
   * due since it was prepared. One that is due much later than records are deferred is due now: the clock was set back.
   */
  due(request: { before: Date; max: number }): Promise<string[]>
  /** How many there are, for each state that is not final. */
  countUnfinished(): Promise<ReadonlyMap<RecordState, number>>
  /**
   * Lists a settled payment without a record. Resolves with whether it is new in the list. Rejects if the list is full.
   */
  noteUnrecorded(payment: UnrecordedPayment): Promise<boolean>
  unrecorded(): Promise<UnrecordedPayment[]>
  /**
   * Removes at most `max` records that became final before `before`, oldest first, and unrecorded payments that were
   * found before it. Returns the number of records.
   */
  prune(request: { before: Date; max: number }): Promise<number>
  /** Undefined before the first start of a service. */
  owner(): Promise<LogOwner | undefined>
  /** Stores `next` if the log still has the owner `current`. Returns the owner that is stored afterwards. */
  setOwner(next: LogOwner, current: LogOwner | undefined): Promise<LogOwner>
  /** Adds a public key to those of the log, or marks one as compromised. Nothing else of a key ever changes. */
  announceKey(key: Omit<AnnouncedKey, 'announced_at'>): Promise<void>
  /** The keys of {@link ResponseLog.announceKey}, of all machines, first announced first. */
  publicKeys(): Promise<AnnouncedKey[]>
  /** The notes whose keys begin with `prefix`: small values that all processes share. */
  notes(prefix: string): Promise<ReadonlyMap<string, string>>
  /** Without a value, removes the note. */
  setNote(key: string, value?: string): Promise<void>
  /** Some unfinished records and those that became final last. Damaged records are skipped. */
  newestRecords(): Promise<ResponseRecord[]>
  close(): Promise<void>
}

/** No record is deferred for longer. */
const DEFERRED_MS_MAX = 3_600_000

/** The time after which a record is due although it is later. */
export const lateAfter = (before: Date) => new Date(before.getTime() + DEFERRED_MS_MAX)

/** Bounds the list of payments without a record. It is longer than an operator can work through. */
export const UNRECORDED_MAX = 1_000
