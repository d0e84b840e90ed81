/**
 * The LMDB databases of the response log. `unfinished` holds the records that are not final, with their revision.
 * The transition to a final state moves a record to `records`.
 */
import { isDeepStrictEqual } from 'node:util'
import { getLastVersion, type Database, type RootDatabase } from 'lmdb'
import { LRUCache } from 'lru-cache'
import { CorruptRecordError, undefinedIfCorrupt } from '../files/checksum.ts'
import { awaitWrite, openEnvironment, StoreError } from '../files/environment.ts'
import {
  FINISHED_DATABASE,
  finishedKey,
  identityIn,
  OWNER_KEY,
  PROBE_KEY,
  PAYMENT_IDS_DATABASE,
  RECORDS_DATABASE,
  SALES_KEY,
  UNFINISHED_DATABASE,
  UNRECORDED_DATABASE,
} from '../files/layout.ts'
import type { LogOwner } from './log-owner.ts'
import {
  decodeRecord,
  encodeRecord,
  isFinal,
  isVersion,
  isVoid,
  NEWEST_READ_MAX,
  randomFirstRevision,
  type Claim,
  type RecordChange,
  type RecordVersion,
  type ResponseRecord,
  type UnrecordedPayment,
} from './record.ts'
import { count, giveBack, secondOf, spend, type SlidingMinute } from '../base/sliding-minute.ts'

/** Parsed records in memory. A run of the reconciler seldom reads more. */
const CACHED_RECORDS_MAX = 512
/** No record is this long. LMDB can report such a length for a value that is shorter than its revision. */
const RECORD_BYTES_MAX = 2 ** 30

/** A record and its bytes on disk. */
interface StoredRecord {
  bytes: Buffer
  record: ResponseRecord
}

interface UnfinishedRecord extends StoredRecord {
  /** Increases with every write. */
  revision: number
}

export class ResponseDatabase {
  readonly #environment: RootDatabase<unknown, string>
  readonly #unfinished: Database<Buffer, string>
  readonly #records: Database<Buffer, string>
  readonly #finished: Database<true, string>
  readonly #paymentIds: Database<string, string>
  readonly #unrecorded: Database<UnrecordedPayment, string>
  /** Saves parsing a record whose bytes have not changed (benchmark row `replay`). The bytes are compared every time. */
  readonly #cache = new LRUCache<string, StoredRecord>({ max: CACHED_RECORDS_MAX })
  #isClosed = false

  constructor(folder: string, readOnly: boolean) {
    this.#environment = openEnvironment({ folder, kind: 'responses', readOnly })
    this.#unfinished = this.#environment.openDB({ name: UNFINISHED_DATABASE, encoding: 'binary', useVersions: true })
    this.#records = this.#environment.openDB({ name: RECORDS_DATABASE, encoding: 'binary' })
    this.#finished = this.#environment.openDB({ name: FINISHED_DATABASE, encoding: 'json' })
    this.#paymentIds = this.#environment.openDB({ name: PAYMENT_IDS_DATABASE, encoding: 'json' })
    this.#unrecorded = this.#environment.openDB({ name: UNRECORDED_DATABASE, encoding: 'json' })
  }

  owner(): LogOwner | undefined {
    this.#checkOpen()
    return this.#environment.get(OWNER_KEY) as LogOwner | undefined
  }

  /** Stores `next` if `current` is stored. Returns the stored owner. */
  setOwner(next: LogOwner, current: LogOwner | undefined): Promise<LogOwner> {
    this.#checkOpen()
    return awaitWrite(
      this.#environment.transaction(() => {
        const stored = this.owner()
        if (stored && !isDeepStrictEqual(stored, current)) return stored
        void this.#environment.put(OWNER_KEY, next)
        return next
      }),
    )
  }

  /** Resolves when a write is on disk. */
  async checkWritable(): Promise<void> {
    this.#checkOpen()
    await this.#environment.put(PROBE_KEY, Date.now())
  }

  newestRecords(): ResponseRecord[] {
    this.#checkOpen()
    const limit = NEWEST_READ_MAX
    const finished = [...this.#finished.getKeys({ reverse: true, limit })].map(identityIn)
    const identities = [...this.listUnfinished(undefined, limit), ...finished]
    return identities.flatMap((identity) => undefinedIfCorrupt(() => this.find(identity)) ?? [])
  }

  find(identity: string): ResponseRecord | undefined {
    return (this.findUnfinished(identity) ?? this.#get(this.#records, identity))?.record
  }

  /** @throws CorruptRecordError like every read of a record */
  findUnfinished(identity: string): UnfinishedRecord | undefined {
    const stored = this.#get(this.#unfinished, identity)
    if (!stored) return undefined
    const revision = getLastVersion()
    // The checksum does not cover the revision. Adding 1 to an unsafe integer can give the same number.
    if (!Number.isSafeInteger(revision) || revision < 1) throw new CorruptRecordError('A revision is not valid')
    return { ...stored, revision }
  }

  /** The record of a payment, or else the record that has its payment id. */
  findConflict(identity: string, paymentId?: string): ResponseRecord | undefined {
    const found = this.find(identity)
    if (found || paymentId === undefined) return found
    const other = this.#getIdentity(paymentId)
    return other === undefined ? undefined : this.find(other)
  }

  /** At most `limit` identities of unfinished records, after `start` in the order of the keys. */
  listUnfinished(start: string | undefined, limit: number): string[] {
    const after = start === undefined ? {} : { start, exclusiveStart: true }
    return [...this.#unfinished.getKeys({ ...after, limit })]
  }

  /**
   * Writes a new record, and counts its sale in the same transaction, so the limit is exact over all processes. Writes nothing if
   * its identity or its payment id is taken, or if `salesMax` sales were made in the last minute.
   */
  async insert(record: ResponseRecord, salesMax: number): Promise<Claim> {
    const { identity, payment_id } = record
    const bytes = encodeRecord(record)
    this.#checkOpen()
    const claim = await awaitWrite(
      this.#environment.transaction((): Claim => {
        const existing = this.findConflict(identity, payment_id)
        if (existing) return { kind: 'taken', record: existing }
        if (payment_id !== undefined && this.#getIdentity(payment_id) !== undefined)
          throw new CorruptRecordError('A payment id is taken, but its record does not exist')
        const sales = this.#readSales()
        const sale = spend(sales, { units: 1, max: salesMax, timeMs: Date.parse(record.prepared_at) })
        if (sale.kind === 'full') return sale
        void this.#environment.put(SALES_KEY, sales)
        void this.#unfinished.put(identity, bytes, randomFirstRevision())
        if (payment_id !== undefined) void this.#paymentIds.put(payment_id, identity)
        return { kind: 'claimed', record }
      }),
    )
    if (claim.kind === 'claimed') this.#cache.set(identity, { bytes, record })
    return claim
  }

  /** The sales of the last minute. */
  countSales(now: Date): number {
    this.#checkOpen()
    return count(this.#readSales(), now.getTime())
  }

  /** The sale of this record counts no longer. */
  giveSaleBack({ prepared_at }: ResponseRecord): Promise<void> {
    return awaitWrite(
      this.#environment.transaction(() => {
        const sales = this.#readSales()
        giveBack(sales, { at: secondOf(Date.parse(prepared_at)), units: 1 })
        void this.#environment.put(SALES_KEY, sales)
      }),
    )
  }

  /** Writes the next state of a record. False if its revision has changed. */
  async replace(current: UnfinishedRecord, next: ResponseRecord): Promise<boolean> {
    const bytes = encodeRecord(next)
    const isWritten = await awaitWrite(this.#replaceIfUnchanged(current, next, bytes))
    if (isWritten) this.#cache.set(next.identity, { bytes, record: next })
    return isWritten
  }

  /**
   * Changes a final record, or moves it back to the unfinished ones. Undefined if it has another version. Final records change
   * in transactions only, so no condition of another write can be affected.
   */
  changeFinal(from: RecordVersion, change: RecordChange): Promise<ResponseRecord | undefined> {
    const { identity } = from
    return awaitWrite(
      this.#environment.transaction(() => {
        const record = this.#get(this.#records, identity)?.record
        if (!isVersion(record, from)) return undefined
        const next = { ...record, ...change }
        this.#cache.delete(identity)
        if (isFinal(next.state)) {
          void this.#records.put(identity, encodeRecord(next))
          return next
        }
        void this.#finished.remove(finishedKey(record))
        void this.#records.remove(identity)
        void this.#unfinished.put(identity, encodeRecord(next), randomFirstRevision())
        const { payment_id } = record
        if (payment_id !== undefined && this.#getIdentity(payment_id) === undefined)
          void this.#paymentIds.put(payment_id, identity)
        return next
      }),
    )
  }

  /** Rejects if the payment is not listed yet and `max` payments are. Resolves with whether it is new. */
  noteUnrecorded(payment: UnrecordedPayment, max: number): Promise<boolean> {
    this.#checkOpen()
    return awaitWrite(
      this.#environment.transaction(() => {
        if (this.#unrecorded.doesExist(payment.identity)) return false
        if (this.#unrecorded.getKeysCount() >= max) throw new StoreError('The list of unrecorded payments is full')
        void this.#unrecorded.put(payment.identity, payment)
        return true
      }),
    )
  }

  listUnrecorded(): UnrecordedPayment[] {
    this.#checkOpen()
    return [...this.#unrecorded.getRange({})].map(({ value }) => value)
  }

  /** Removes at most `max` records that became final before `before`, oldest first. Returns the number of removed records. */
  prune({ before, max }: { before: Date; max: number }): Promise<number> {
    return awaitWrite(
      this.#environment.transaction(() => {
        const time = before.toISOString()
        for (const { identity, found_at } of this.listUnrecorded())
          if (found_at < time) void this.#unrecorded.remove(identity)
        const keys = [...this.#finished.getKeys({ end: time, limit: max })]
        return keys.filter((key) => this.#removeFinished(key)).length
      }),
    )
  }

  close(): Promise<void> {
    this.#isClosed = true
    return this.#environment.close()
  }

  /** A closed LMDB environment would throw later, where the error cannot be caught. */
  #checkOpen(): void {
    if (this.#isClosed) throw new StoreError('The response log is closed')
  }

  #get(database: Database<Buffer, string>, identity: string): StoredRecord | undefined {
    this.#checkOpen()
    const shared = getSharedBytes(database, identity)
    if (!shared) return undefined
    const cached = this.#cache.get(identity)
    // The memory of the shared buffer is longer than its `length`. `equals` would compare all of it; `compare` gets the end.
    if (cached?.bytes.compare(shared, 0, shared.length) === 0) return cached
    // The next read overwrites the shared buffer.
    const bytes = Buffer.from(shared.subarray(0, shared.length))
    const record = decodeRecord(bytes)
    if (record.identity !== identity) throw new CorruptRecordError('A stored record has the key of another identity')
    const stored = { bytes, record }
    this.#cache.set(identity, stored)
    return stored
  }

  /** The identity of the payment that has this payment id. */
  #getIdentity(paymentId: string): string | undefined {
    try {
      return this.#paymentIds.get(paymentId)
    } catch (cause) {
      throw new CorruptRecordError('A payment id cannot be read', { cause })
    }
  }

  #readSales(): SlidingMinute {
    return (this.#environment.get(SALES_KEY) as SlidingMinute | undefined) ?? []
  }

  #replaceIfUnchanged({ record, revision }: UnfinishedRecord, next: ResponseRecord, bytes: Buffer): Promise<boolean> {
    this.#checkOpen()
    const { identity, payment_id } = record
    if (!isFinal(next.state)) return this.#unfinished.put(identity, bytes, revision + 1, revision)
    return this.#unfinished.ifVersion(identity, revision, () => {
      void this.#records.put(identity, bytes)
      void this.#finished.put(finishedKey(next), true)
      if (payment_id !== undefined && isVoid(next.state)) void this.#paymentIds.remove(payment_id)
      void this.#unfinished.remove(identity)
    })
  }

  /**
   * Runs inside a transaction's callback, which LMDB may call between a condition of another write and that write. It cannot
   * invalidate the condition: it removes only final records and payment ids that point to them. A corrupt record stays for
   * the operator; only its key in `finished` is removed.
   */
  #removeFinished(key: string): boolean {
    void this.#finished.remove(key)
    const identity = identityIn(key)
    const record = undefinedIfCorrupt(() => this.#get(this.#records, identity))?.record
    if (!record || finishedKey(record) !== key) return false
    void this.#records.remove(identity)
    this.#cache.delete(identity)
    const { payment_id } = record
    if (payment_id !== undefined && undefinedIfCorrupt(() => this.#getIdentity(payment_id)) === identity)
      void this.#paymentIds.remove(payment_id)
    return true
  }
}

/**
 * Returns LMDB's own buffer, valid until the next read. For a value shorter than its revision LMDB computes a negative
 * length, which becomes more than 4 GB or a RangeError.
 */
function getSharedBytes(database: Database<Buffer, string>, identity: string): Buffer | undefined {
  const tooShort = (cause?: unknown) => new CorruptRecordError('A stored record is too short', { cause })
  try {
    const bytes = database.getBinaryFast(identity)
    if (bytes && bytes.length > RECORD_BYTES_MAX) throw tooShort()
    return bytes
  } catch (cause) {
    throw cause instanceof RangeError ? tooShort(cause) : cause
  }
}
