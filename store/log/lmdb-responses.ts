/**
 * The response log in LMDB. Every change is one callback in LMDB's write transaction, which reads the record, compares
 * it and writes record and indexes. LMDB does not roll back a callback that throws, so nothing throws after the first
 * write. A promise resolves after the write is on disk, so its result survives a kill and a power loss.
 */
import { randomUUID } from 'node:crypto'
import { asBinary } from 'lmdb'
import { LRUCache } from 'lru-cache'
import { CorruptRecordError, storedChecksum, undefinedIfCorrupt } from '../files/checksum.ts'
import { createReserveCheck, FREE_BYTES_MIN, type readFreeBytes } from '../files/disk-space.ts'
import { awaitWrite, checkPlace, openEnvironment, readerIdsOf, StoreError } from '../files/environment.ts'
import { finishedKey, recordKeyIn, responsesFolder, unfinishedKey } from '../files/layout.ts'
import type { LogDocument, StoredDocument } from './documents.ts'
import {
  decodeStored,
  digestOf,
  holderOf,
  newRecordKey,
  openRanges,
  readKey,
  readRecord,
  removeRecord,
  type LogRanges,
} from './ranges.ts'
import {
  applyChange,
  checkTransition,
  decodeProgress,
  encodeProgress,
  encodeRecord,
  isVersion,
  NEW_VERSION,
  otherKey,
  withProgress,
  type Claim,
  type RecordChange,
  type ResponseRecord,
} from './record.ts'
import { isFinal, isIdFree, OPEN_STATES, type RecordState } from './states.ts'
import { MOVED, PART, type LogPart, type MoveSource } from './move.ts'
import type { CountQuery, DocumentVersion, LogPage, LogQuery } from './responses.ts'

/**
 * A record that this process has read or claimed. The stored one is the same if the checksum of its claim and the bytes
 * of its progress are equal. The bytes after the checksum are not checked again.
 */
interface CachedRecord {
  readonly checksum: Buffer
  readonly progress: Buffer | undefined
  readonly record: ResponseRecord
}

/** Bounds the cache. A body has from one kilobyte to one megabyte. */
const CACHED_CHARACTERS_MAX = 4 * 1024 * 1024
/** The size that is assumed for the other members of a record. */
const MEMBERS_CHARACTERS = 4 * 1024

interface LmdbLogOptions {
  /** For a command that reads the log while a service runs. */
  readOnly?: boolean
  now?: () => Date
  /** Replaced by tests. */
  freeBytes?: typeof readFreeBytes
}

export class LmdbResponseLog implements MoveSource {
  readonly #opened: LogRanges
  /** By key. Saves parsing a record whose bytes have not changed (`bench perf`, row "replay"). */
  readonly #cache = new LRUCache<string, CachedRecord>({
    maxSize: CACHED_CHARACTERS_MAX,
    sizeCalculation: ({ record }) => record.body.length + MEMBERS_CHARACTERS,
  })
  readonly #now: () => Date
  readonly #checkReserve: () => void
  readonly #folder: string
  #isClosed = false

  constructor(dataDirectory: string, { readOnly = false, now = () => new Date(), freeBytes }: LmdbLogOptions = {}) {
    const folder = responsesFolder(dataDirectory)
    this.#folder = folder
    this.#checkReserve = createReserveCheck(folder, FREE_BYTES_MIN.sale, freeBytes)
    const environment = openEnvironment({ folder, kind: 'responses', readOnly })
    this.#opened = openRanges(environment)
    this.#now = now
  }

  document<Value>(key: string): LogDocument<Value> {
    return {
      read: async () => this.#ranges.documents.get(key) as StoredDocument<Value> | undefined,
      compareAndSet: (value, revision) =>
        this.#transact(() => {
          const { documents } = this.#ranges
          if (documents.get(key)?.revision !== revision) return undefined
          const next = { value, revision: randomUUID(), written_at: this.#now().toISOString() }
          documents.put(key, next)
          return next
        }),
    }
  }

  async checkWritable(): Promise<void> {
    checkPlace(this.#folder)
    await this.#ranges.environment.put('probe', Date.now())
  }

  async read(identity: string, paymentId?: string): Promise<ResponseRecord | undefined> {
    return this.#find(identity) ?? this.#findAt(holderOf(paymentId, this.#ranges))
  }

  async list(query: LogQuery): Promise<LogPage> {
    const { max } = query
    const { finished, unfinished } = this.#ranges
    if (query.kind === 'final') {
      const keys = finished.keys({ reverse: true, limit: max })
      return { identities: Array.from(keys, (key) => String(finished.getBinary(key))), next: undefined }
    }
    const { after, dueBefore, dueAfter } = query
    const from = after ?? dueAfter?.toISOString() ?? ''
    const keys = OPEN_STATES.flatMap((state) => {
      const end = dueBefore ? `${state}:${dueBefore.toISOString()}` : `${state};`
      return [...unfinished.keys({ start: `${state}:${from}`, exclusiveStart: true, end, limit: max })]
    })
    const byTime = keys.toSorted((one, other) => (timeIn(one) < timeIn(other) ? -1 : 1)).slice(0, max)
    const last = byTime.length < max ? undefined : byTime.at(-1)
    return { identities: this.#identitiesAt(byTime), next: last && timeIn(last) }
  }

  async count({ states = OPEN_STATES, prefix = '' }: CountQuery = {}): Promise<Map<RecordState, number>> {
    const { unfinished } = this.#ranges
    return new Map(
      states.map((state) => {
        // The range ends at the character after the colon.
        const range = { start: `${state}:`, end: `${state};` }
        if (prefix === '') return [state, unfinished.count(range)]
        const found = this.#identitiesAt(unfinished.keys(range)).filter((identity) => identity.startsWith(prefix))
        return [state, found.length]
      }),
    )
  }

  async claim(record: ResponseRecord, unchanged?: DocumentVersion): Promise<Claim> {
    checkPlace(this.#folder)
    this.#checkReserve()
    const { identity, payment_id } = record
    return this.#transact((): Claim => {
      if (unchanged && this.#ranges.documents.get(unchanged.document)?.revision !== unchanged.revision)
        return { kind: 'outdated' }
      const holder = holderOf(payment_id, this.#ranges)
      const existing = this.#find(identity) ?? this.#findAt(holder)
      if (existing) return { kind: 'taken', record: existing }
      if (holder !== undefined) throw new CorruptRecordError('A payment id is taken, but its record does not exist')
      this.#writeIndexes({ key: this.#add(record), next: record, before: undefined })
      return { kind: 'claimed', record }
    })
  }

  /** Reads only the progress, because the caller has the rest of the record. */
  async advance(from: ResponseRecord, change: RecordChange): Promise<ResponseRecord | undefined> {
    checkTransition(from, change)
    const { identity } = from
    return this.#transact(() => {
      const key = readKey(this.#ranges.identities, digestOf(identity))
      if (key === undefined) return undefined
      const stored = this.#ranges.progress.getBinary(key)
      const progress = stored && decodeProgress(stored, identity)
      if (!isVersion(progress ?? NEW_VERSION, from)) return undefined
      const before = progress ? withProgress(from, progress) : from
      const next = applyChange(before, change)
      this.#writeIndexes({ key, next, before })
      this.#ranges.progress.put(key, asBinary(encodeProgress(next)))
      return next
    })
  }

  prune({ before, max }: { before: Date; max: number }): Promise<number> {
    return this.#transact(() => {
      const keys = [...this.#ranges.finished.keys({ end: before.toISOString(), limit: max })]
      return keys.filter((key) => this.#removeFinished(key)).length
    })
  }

  documents(): Map<string, StoredDocument<unknown>> {
    const { documents } = this.#ranges
    const entries = [...documents.keys()].map((key) => [key, documents.get(key)] as const)
    return new Map(entries.flatMap(([key, stored]) => (stored ? [[key, stored]] : [])))
  }

  otherProcesses(): number[] {
    return readerIdsOf(this.#ranges.environment).filter((id) => id !== process.pid)
  }

  *export(): Generator<LogPart> {
    const keys = [...this.#ranges.records.keys()]
    for (let from = 0; from < keys.length;) {
      const part: LogPart = { records: [], damaged: [] }
      let bytes = 0
      for (const key of keys.slice(from, from + PART.RECORDS_MAX)) {
        const record = undefinedIfCorrupt(() => this.#findAt(key))
        const id = record?.payment_id
        if (record)
          part.records.push({ record, holdsPaymentId: id !== undefined && holderOf(id, this.#ranges) === key })
        else part.damaged.push(key)
        bytes += record?.body.length ?? 0
        if (bytes > PART.BYTES_MAX) break
      }
      from += part.records.length + part.damaged.length
      yield part
    }
  }

  close(): Promise<void> {
    this.#isClosed = true
    return this.#opened.environment.close()
  }

  /** A closed LMDB environment would throw later, where the error cannot be caught. */
  get #ranges(): LogRanges {
    if (this.#isClosed) throw new StoreError('The response log is closed')
    return this.#opened
  }

  async #transact<T>(change: () => T): Promise<T> {
    const { environment, documents } = this.#ranges
    const changeUnlessMoved = () => {
      if (documents.getBinary(MOVED)) throw new StoreError('The response log was moved')
      return change()
    }
    return awaitWrite(environment.transaction(changeUnlessMoved))
  }

  #identitiesAt(keys: Iterable<string>): string[] {
    return Array.from(keys, (key) => String(this.#ranges.unfinished.getBinary(key)))
  }

  /** @throws CorruptRecordError like every read of a record */
  #find(identity: string): ResponseRecord | undefined {
    const found = this.#findAt(readKey(this.#ranges.identities, digestOf(identity)))
    if (found && found.identity !== identity) throw otherKey()
    return found
  }

  #findAt(key: string | undefined): ResponseRecord | undefined {
    if (key === undefined) return undefined
    const progress = this.#ranges.progress.getBinary(key)
    const bytes = this.#ranges.records.getBinary(key)
    if (!bytes) return undefined
    const cached = this.#cache.get(key)
    const sameClaim = cached?.checksum.equals(storedChecksum(bytes)) ? cached : undefined
    if (sameClaim && isSame(sameClaim.progress, progress)) return sameClaim.record
    const record =
      sameClaim && progress
        ? withProgress(sameClaim.record, decodeProgress(progress, sameClaim.record.identity))
        : decodeStored(key, bytes, progress)
    this.#cache.set(key, { record, progress, checksum: sameClaim?.checksum ?? Buffer.from(storedChecksum(bytes)) })
    return record
  }

  /** Inside a transaction. Returns the key of the record. */
  #add(record: ResponseRecord): string {
    const { identities, records, progress } = this.#ranges
    const digest = digestOf(record.identity)
    const key = newRecordKey(record.prepared_at, digest)
    const bytes = encodeRecord(record)
    const stored = isVersion(NEW_VERSION, record) ? undefined : encodeProgress(record)
    identities.put(digest, key)
    records.put(key, asBinary(bytes))
    if (stored) progress.put(key, asBinary(stored))
    // A sale is soon read again, for the chain and for a replay (`bench perf`, row "paid lookup").
    this.#cache.set(key, { record, progress: stored, checksum: Buffer.from(storedChecksum(bytes)) })
    return key
  }

  /** Inside a transaction. */
  #writeIndexes({ key, next, before }: IndexWrite): void {
    const [listed, formerly] = [this.#placeOf(next, key), before && this.#placeOf(before, key)]
    if (formerly?.key !== listed.key) {
      formerly?.range.remove(formerly.key)
      listed.range.put(listed.key, asBinary(Buffer.from(next.identity)))
    }
    this.#writePaymentId(next, key, before)
  }

  /** A record that was void takes its payment id back, unless another one has it. */
  #writePaymentId({ payment_id, state }: ResponseRecord, key: string, before: ResponseRecord | undefined): void {
    if (payment_id === undefined || isIdFree(state) === (!before || isIdFree(before.state))) return
    const { paymentIds } = this.#ranges
    const holder = undefinedIfCorrupt(() => holderOf(payment_id, this.#ranges))
    if (!isIdFree(state) && holder === undefined) paymentIds.put(digestOf(payment_id), key)
    else if (isIdFree(state) && holder === key) paymentIds.remove(digestOf(payment_id))
  }

  #placeOf(record: ResponseRecord, key: string) {
    const { finished, unfinished } = this.#ranges
    return isFinal(record.state)
      ? { range: finished, key: finishedKey(record, key) }
      : { range: unfinished, key: unfinishedKey(record, key) }
  }

  /** Inside a transaction. A corrupt record stays for the operator; only its key in `finished` is removed. */
  #removeFinished(finishedAt: string): boolean {
    this.#ranges.finished.remove(finishedAt)
    const key = recordKeyIn(finishedAt)
    const record = undefinedIfCorrupt(() => readRecord(this.#ranges, key))
    if (!record || !isFinal(record.state) || finishedKey(record, key) !== finishedAt) return false
    const { payment_id } = record
    if (payment_id !== undefined && undefinedIfCorrupt(() => holderOf(payment_id, this.#ranges)) === key)
      this.#ranges.paymentIds.remove(digestOf(payment_id))
    removeRecord(this.#ranges, key)
    this.#cache.delete(key)
    return true
  }
}

/** The time and the record key in a key of `unfinished`, which are its position. */
const timeIn = (key: string) => key.slice(key.indexOf(':') + 1)

interface IndexWrite {
  key: string
  next: ResponseRecord
  before: ResponseRecord | undefined
}

function isSame(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other)
}
