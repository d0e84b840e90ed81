/**
 * The response log in LMDB. `unfinished` holds the records that are not final, with their revision. The transition to a
 * final state moves a record to `records`.
 *
 * LMDB compares the revision inside its write transaction. A promise resolves after the write is on disk, so its result
 * survives a kill and a power loss.
 */
import { isDeepStrictEqual } from 'node:util'
import { getLastVersion, type Database, type RootDatabase } from 'lmdb'
import { LRUCache } from 'lru-cache'
import { CorruptRecordError, undefinedIfCorrupt } from '../files/checksum.ts'
import { createReserveCheck, FREE_BYTES_MIN, type readFreeBytes } from '../files/disk-space.ts'
import { awaitWrite, openEnvironment, startAfter, StoreError } from '../files/environment.ts'
import {
  FINISHED_DATABASE,
  finishedKey,
  identityIn,
  OWNER_KEY,
  PAYMENT_IDS_DATABASE,
  RECORDS_DATABASE,
  responsesFolder,
  SALES_KEY,
  UNFINISHED_DATABASE,
} from '../files/layout.ts'
import type { LogOwner } from './log-owner.ts'
import {
  checkTransition,
  decodeRecord,
  encodeRecord,
  givesSaleBack,
  isFinal,
  isIdFree,
  isVersion,
  NEWEST_READ_MAX,
  randomFirstRevision,
  type Claim,
  type RecordChange,
  type RecordState,
  type RecordVersion,
  type ResponseRecord,
  type UnrecordedPayment,
} from './record.ts'
import { listInParts, UNRECORDED_MAX, type ResponseLog } from './responses.ts'
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

interface LmdbLogOptions {
  /** For a command that reads the log while a service runs. */
  readOnly?: boolean
  /** The sales in a minute, of all processes. Default: no limit. */
  salesPerMinute?: number | undefined
  now?: () => Date
  /** Replaced by tests. */
  freeBytes?: typeof readFreeBytes
}

export class LmdbResponseLog implements ResponseLog {
  readonly #environment: RootDatabase<unknown, string>
  readonly #unfinished: Database<Buffer, string>
  readonly #records: Database<Buffer, string>
  readonly #finished: Database<true, string>
  readonly #paymentIds: Database<string, string>
  readonly #unrecorded: Database<UnrecordedPayment, string>
  /**
   * Saves parsing a record whose bytes have not changed (benchmark row `replay`). The bytes are compared every time.
   */
  readonly #cache = new LRUCache<string, StoredRecord>({ max: CACHED_RECORDS_MAX })
  readonly #salesPerMinute: number
  readonly #now: () => Date
  readonly #checkReserve: () => void
  #isClosed = false

  constructor(
    dataDirectory: string,
    { readOnly = false, salesPerMinute = Infinity, now = () => new Date(), freeBytes }: LmdbLogOptions = {},
  ) {
    const folder = responsesFolder(dataDirectory)
    this.#environment = openEnvironment({ folder, kind: 'responses', readOnly })
    this.#unfinished = this.#environment.openDB({ name: UNFINISHED_DATABASE, encoding: 'binary', useVersions: true })
    this.#records = this.#environment.openDB({ name: RECORDS_DATABASE, encoding: 'binary' })
    this.#finished = this.#environment.openDB({ name: FINISHED_DATABASE, encoding: 'json' })
    this.#paymentIds = this.#environment.openDB({ name: PAYMENT_IDS_DATABASE, encoding: 'json' })
    this.#unrecorded = this.#environment.openDB({ name: 'unrecorded', encoding: 'json' })
    this.#salesPerMinute = salesPerMinute
    this.#now = now
    this.#checkReserve = createReserveCheck(folder, FREE_BYTES_MIN.sale, freeBytes)
  }

  async owner(): Promise<LogOwner | undefined> {
    return this.#getOwner()
  }

  setOwner(next: LogOwner, current: LogOwner | undefined): Promise<LogOwner> {
    return this.#transact(() => {
      const stored = this.#getOwner()
      if (stored && !isDeepStrictEqual(stored, current)) return stored
      void this.#environment.put(OWNER_KEY, next)
      return next
    })
  }

  async checkWritable(): Promise<void> {
    this.#checkOpen()
    await this.#environment.put('probe', Date.now())
  }

  async newestRecords(): Promise<ResponseRecord[]> {
    this.#checkOpen()
    const limit = NEWEST_READ_MAX
    const finished = [...this.#finished.getKeys({ reverse: true, limit })].map(identityIn)
    const identities = [...this.#unfinished.getKeys({ limit }), ...finished]
    return identities.flatMap((identity) => undefinedIfCorrupt(() => this.#find(identity)) ?? [])
  }

  async read(identity: string, paymentId?: string): Promise<ResponseRecord | undefined> {
    return this.#findConflict(identity, paymentId)
  }

  unfinished(): Promise<string[]> {
    return listInParts(async (last, limit) => {
      this.#checkOpen()
      return [...this.#unfinished.getKeys({ ...startAfter(last), limit })]
    })
  }

  /** Counts the sale in the same transaction, so the limit is exact over all processes. */
  async claim(record: ResponseRecord): Promise<Claim> {
    this.#checkReserve()
    const { identity, payment_id } = record
    const bytes = encodeRecord(record)
    const claim = await this.#transact((): Claim => {
      const existing = this.#findConflict(identity, payment_id)
      if (existing) return { kind: 'taken', record: existing }
      if (payment_id !== undefined && this.#getIdentity(payment_id) !== undefined)
        throw new CorruptRecordError('A payment id is taken, but its record does not exist')
      const sales = this.#readSales()
      const spending = spend(sales, { units: 1, max: this.#salesPerMinute, timeMs: Date.parse(record.prepared_at) })
      if (spending.kind === 'full') return spending
      void this.#environment.put(SALES_KEY, sales)
      void this.#unfinished.put(identity, bytes, randomFirstRevision())
      if (payment_id !== undefined) void this.#paymentIds.put(payment_id, identity)
      return { kind: 'claimed', record }
    })
    if (claim.kind === 'claimed') this.#cache.set(identity, { bytes, record })
    return claim
  }

  async countSales(): Promise<number> {
    this.#checkOpen()
    return count(this.#readSales(), this.#now().getTime())
  }

  async countUnknown(prefix: string): Promise<number> {
    this.#checkOpen()
    const keys = [...this.#unfinished.getKeys({ start: prefix, end: `${prefix}~` })]
    const states = keys.map((identity) => undefinedIfCorrupt(() => this.#find(identity))?.state)
    return states.filter((state) => state === 'unknown').length
  }

  async advance(
    from: RecordVersion,
    change: RecordChange & { state: RecordState },
  ): Promise<ResponseRecord | undefined> {
    checkTransition(from, change)
    if (isFinal(from.state)) return this.#changeFinal(from, change)
    const current = this.#findUnfinished(from.identity)
    if (!current || !isVersion(current.record, from)) return undefined
    const next = { ...current.record, ...change }
    const bytes = encodeRecord(next)
    if (!(await awaitWrite(this.#replaceIfUnchanged(current, next, bytes)))) return undefined
    this.#cache.set(next.identity, { bytes, record: next })
    if (givesSaleBack(next)) await this.#giveSaleBack(next)
    return next
  }

  async noteUnrecorded(payment: UnrecordedPayment): Promise<boolean> {
    this.#checkReserve()
    return this.#transact(() => {
      if (this.#unrecorded.doesExist(payment.identity)) return false
      if (this.#unrecorded.getKeysCount() >= UNRECORDED_MAX)
        throw new StoreError('The list of unrecorded payments is full')
      void this.#unrecorded.put(payment.identity, payment)
      return true
    })
  }

  async unrecorded(): Promise<UnrecordedPayment[]> {
    this.#checkOpen()
    return [...this.#unrecorded.getRange({})].map(({ value }) => value)
  }

  prune({ before, max }: { before: Date; max: number }): Promise<number> {
    return this.#transact(() => {
      const time = before.toISOString()
      const listed = [...this.#unrecorded.getRange({})]
      for (const { key, value } of listed) if (value.found_at < time) void this.#unrecorded.remove(key)
      const keys = [...this.#finished.getKeys({ end: time, limit: max })]
      return keys.filter((key) => this.#removeFinished(key)).length
    })
  }

  close(): Promise<void> {
    this.#isClosed = true
    return this.#environment.close()
  }

  async #transact<T>(change: () => T): Promise<T> {
    this.#checkOpen()
    return awaitWrite(this.#environment.transaction(change))
  }

  #getOwner(): LogOwner | undefined {
    this.#checkOpen()
    return this.#environment.get(OWNER_KEY) as LogOwner | undefined
  }

  #find(identity: string): ResponseRecord | undefined {
    return (this.#findUnfinished(identity) ?? this.#get(this.#records, identity))?.record
  }

  /** @throws CorruptRecordError like every read of a record */
  #findUnfinished(identity: string): UnfinishedRecord | undefined {
    const stored = this.#get(this.#unfinished, identity)
    if (!stored) return undefined
    const revision = getLastVersion()
    // The checksum does not cover the revision. Adding 1 to an unsafe integer can give the same number.
    if (!Number.isSafeInteger(revision) || revision < 1) throw new CorruptRecordError('A revision is not valid')
    return { ...stored, revision }
  }

  #findConflict(identity: string, paymentId: string | undefined): ResponseRecord | undefined {
    const found = this.#find(identity)
    if (found || paymentId === undefined) return found
    const other = this.#getIdentity(paymentId)
    return other === undefined ? undefined : this.#find(other)
  }

  #giveSaleBack({ prepared_at }: ResponseRecord): Promise<void> {
    return this.#transact(() => {
      const sales = this.#readSales()
      giveBack(sales, { at: secondOf(Date.parse(prepared_at)), units: 1 })
      void this.#environment.put(SALES_KEY, sales)
    })
  }

  /**
   * Changes a final record, or moves it back to the unfinished ones. Final records change in transactions only, so no
   * condition of another write can be affected.
   */
  #changeFinal(from: RecordVersion, change: RecordChange): Promise<ResponseRecord | undefined> {
    const { identity } = from
    return this.#transact(() => {
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
    })
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
    // The memory of the shared buffer is longer than its `length`. `equals` would compare all of it; `compare` gets the
    // end.
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
    const { identity, payment_id } = record
    if (!isFinal(next.state)) {
      if (payment_id === undefined || isIdFree(next.state) === isIdFree(record.state))
        return this.#unfinished.put(identity, bytes, revision + 1, revision)
      const isFreed = isIdFree(next.state)
      const mayTake = !isFreed && this.#getIdentity(payment_id) === undefined
      return this.#unfinished.ifVersion(identity, revision, () => {
        if (isFreed) void this.#paymentIds.remove(payment_id)
        if (mayTake) void this.#paymentIds.put(payment_id, identity)
        void this.#unfinished.put(identity, bytes, revision + 1)
      })
    }
    return this.#unfinished.ifVersion(identity, revision, () => {
      void this.#records.put(identity, bytes)
      void this.#finished.put(finishedKey(next), true)
      const isFreed = isIdFree(next.state) && !isIdFree(record.state)
      if (payment_id !== undefined && isFreed) void this.#paymentIds.remove(payment_id)
      void this.#unfinished.remove(identity)
    })
  }

  /**
   * Runs inside a transaction's callback, which LMDB may call between a condition of another write and that write. It
   * cannot invalidate the condition: it removes only final records and payment ids that point to them. A corrupt record
   * stays for the operator; only its key in `finished` is removed.
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
