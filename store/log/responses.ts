/**
 * The response log: every response that a payment has bought or may have bought.
 *
 * A response is claimed under its payment's identity before the payment is settled. Every later transition is a
 * compare-and-set. The promise of a write resolves when it is on disk.
 */
import type { LogDocument } from './documents.ts'
import type { Claim, RecordChange, ResponseRecord } from './record.ts'
import type { RecordState } from './states.ts'

/** A document as it was read. */
export interface DocumentVersion {
  readonly document: string
  /** Undefined if the document did not exist. */
  readonly revision: string | undefined
}

/** The records whose state is not final, in the order in which they are due. */
interface OpenQuery {
  kind: 'open'
  /** A record without `due_at` has been due since it was prepared. */
  dueBefore?: Date
  dueAfter?: Date
  /** `next` of the page before. */
  after?: string | undefined
  max: number
}

/** The records that became final last, the last one first. */
interface FinalQuery {
  kind: 'final'
  max: number
}

export type LogQuery = OpenQuery | FinalQuery

/** Identities. The caller reads the records one by one, so that a corrupt one stops no other. */
export interface LogPage {
  readonly identities: readonly string[]
  /** Where the next page of open records begins. Undefined after the last one. */
  readonly next: string | undefined
}

export interface CountQuery {
  /** Default: every state that is not final. */
  states?: readonly RecordState[]
  /** What the identities begin with. Default: any. */
  prefix?: string
}

/** The interface of the log. LMDB and PostgreSQL implement it. */
export interface ResponseLog {
  /** The record of this payment, or else the record of the payment that has this payment id. */
  read(identity: string, paymentId?: string): Promise<ResponseRecord | undefined>
  /**
   * Stores the record of a new payment. If the identity or the payment id is already taken, returns the existing
   * record. With a document, stores it only while the document has this revision. Rejects when the disk is nearly full,
   * in which existing records can still be advanced.
   * @example
   * const claim = await log.claim(record)
   * if (claim.kind === 'taken') return replay(claim.record)
   */
  claim(record: ResponseRecord, unchanged?: DocumentVersion): Promise<Claim>
  /**
   * Changes a record that was read or written, and that still has this version. Undefined otherwise: read the record
   * and decide again. A void record that becomes `settled` is open again, and takes its payment id back unless another
   * payment has it. A record keeps its state when a paid one gets its receipt, and when an open one gets `due_at`,
   * `first_denial` or `lease`, which end with the state.
   * @example
   * const settled = await log.advance(record, { state: 'settled', payment_response, updated_at })
   * const { state, updated_at } = settled
   * await log.advance(settled, { state, updated_at, due_at: '2026-01-01T00:15:00.000Z' })
   */
  advance(from: ResponseRecord, change: RecordChange): Promise<ResponseRecord | undefined>
  list(query: LogQuery): Promise<LogPage>
  /** The number of open records of each state. */
  count(query?: CountQuery): Promise<ReadonlyMap<RecordState, number>>
  /** Removes at most `max` records that became final before `before`, oldest first. Returns their number. */
  prune(request: { before: Date; max: number }): Promise<number>
  /** A value that all processes share. It stays until it is replaced. */
  document<Value>(key: string): LogDocument<Value>
  /** Writes durably without an effect. Rejects if a sale could not be stored. */
  checkWritable(): Promise<void>
  close(): Promise<void>
}

export async function countOpen(log: Pick<ResponseLog, 'count'>): Promise<number> {
  return [...(await log.count()).values()].reduce((sum, number) => sum + number, 0)
}

/** For one statement of a database. */
const PAGE_MAX = 1_000

/** The identities of all open records, read page by page. A record that is deferred meanwhile can come twice. */
export async function* listOpen(log: Pick<ResponseLog, 'list'>, max = PAGE_MAX): AsyncGenerator<string> {
  let after: string | undefined
  do {
    const { identities, next } = await log.list({ kind: 'open', after, max })
    yield* identities
    after = next
  } while (after !== undefined)
}
