/**
 * The response log in LMDB. Every change is one callback in LMDB's write transaction, which reads the record, compares
 * it and writes record and indexes. LMDB does not roll back a callback that throws, so nothing throws after the first
 * write. A promise resolves after the write is on disk, so its result survives a kill and a power loss.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Database, RangeOptions, RootDatabase } from 'lmdb'
import { LRUCache } from 'lru-cache'
import { CorruptRecordError, undefinedIfCorrupt } from '../files/checksum.ts'
import { createReserveCheck, FREE_BYTES_MIN, type readFreeBytes } from '../files/disk-space.ts'
import { awaitWrite, openEnvironment, readerIdsOf, StoreError } from '../files/environment.ts'
import {
  EPOCH_KEY,
  finishedKey,
  identityIn,
  NOTE_PREFIX,
  OWNER_KEY,
  PUBLIC_KEYS_KEY,
  responsesFolder,
  SALES_KEY,
  unfinishedKey,
} from '../files/layout.ts'
import { holderOf, noteChanges, openDatabases, removeFromIndexes, type LogDatabases } from './databases.ts'
import { openFormerRecords, readFormerRecord, upgradeLayout } from './former-layout.ts'
import { refuseOtherReceiver, type LogOwner } from './log-owner.ts'
import {
  applyChange,
  checkTransition,
  decodeRecord,
  encodeRecord,
  releasesSale,
  isFinal,
  isIdFree,
  isVersion,
  NEWEST_READ_MAX,
  UNFINISHED_STATES,
  type Claim,
  type RecordChange,
  type RecordState,
  type RecordVersion,
  type ResponseRecord,
  type UnrecordedPayment,
} from './record.ts'
import { lateAfter, UNRECORDED_MAX, type AnnouncedKey, type ResponseLog } from './responses.ts'
import { count, giveBack, secondOf, spend, type SlidingMinute } from '../base/sliding-minute.ts'

/** Parsed records in memory. A run of the reconciler seldom reads more. */
const CACHED_RECORDS_MAX = 512

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
  readonly #opened: LogDatabases
  /** For a reader of the layout before, which lists and reads its records, and counts all as unknown. */
  readonly #former: Database<Buffer, string> | undefined
  /** Saves parsing a record whose bytes have not changed (benchmark row `replay`). */
  readonly #cache = new LRUCache<string, { bytes: Buffer; record: ResponseRecord }>({ max: CACHED_RECORDS_MAX })
  readonly #salesPerMinute: number
  readonly #now: () => Date
  readonly #checkReserve: () => void
  #isClosed = false

  constructor(
    dataDirectory: string,
    { readOnly = false, salesPerMinute = Infinity, now = () => new Date(), freeBytes }: LmdbLogOptions = {},
  ) {
    const folder = responsesFolder(dataDirectory)
    this.#checkReserve = createReserveCheck(folder, FREE_BYTES_MIN.sale, freeBytes)
    const upgrade = (environment: RootDatabase<unknown, string>) => {
      this.#checkReserve()
      upgradeLayout(environment)
    }
    const environment = openEnvironment({ folder, kind: 'responses', readOnly, upgrade })
    this.#opened = openDatabases(environment)
    if (!readOnly) environment.putSync(EPOCH_KEY, randomUUID(), { noOverwrite: true })
    this.#former = openFormerRecords(environment)
    this.#salesPerMinute = salesPerMinute
    this.#now = now
  }

  async owner(): Promise<LogOwner | undefined> {
    return this.#getOwner()
  }

  setOwner(next: LogOwner, current: LogOwner | undefined): Promise<LogOwner> {
    return this.#transact(() => {
      const stored = this.#getOwner()
      if (stored && !isDeepStrictEqual(stored, current)) return stored
      void this.#databases.environment.put(OWNER_KEY, next)
      return next
    })
  }

  async announceKey(key: Omit<AnnouncedKey, 'announced_at'>): Promise<void> {
    const { kid, compromised_at } = key
    await this.#transact(() => {
      const keys = this.#getPublicKeys()
      const known = keys.find((each) => each.kid === kid)
      if (!known) keys.push({ ...key, announced_at: this.#now().toISOString() })
      else if (known.compromised_at === null && compromised_at !== null)
        keys.splice(keys.indexOf(known), 1, { ...known, compromised_at })
      else return
      void this.#databases.environment.put(PUBLIC_KEYS_KEY, keys)
    })
  }

  async publicKeys(): Promise<AnnouncedKey[]> {
    return this.#getPublicKeys()
  }

  async notes(prefix: string): Promise<Map<string, string>> {
    const start = NOTE_PREFIX + prefix
    const { environment } = this.#databases
    const entries = [...environment.getRange({ start, end: `${start}\uffff` })]
    return new Map(entries.map(({ key, value }) => [key.slice(NOTE_PREFIX.length), String(value)]))
  }

  async setNote(key: string, value?: string): Promise<void> {
    const { environment } = this.#databases
    const name = NOTE_PREFIX + key
    await this.#transact(() => void (value === undefined ? environment.remove(name) : environment.put(name, value)))
  }

  /** This process has another name. */
  async hasEnded(name: string): Promise<boolean> {
    const [, id] = /^([0-9]+)\./.exec(name) ?? []
    return (
      id !== undefined && (Number(id) === process.pid || !readerIdsOf(this.#databases.environment).includes(Number(id)))
    )
  }

  async checkWritable(): Promise<void> {
    await this.#databases.environment.put('probe', Date.now())
  }

  async newestRecords(): Promise<ResponseRecord[]> {
    const limit = NEWEST_READ_MAX
    const keys = [...this.#list({ limit }), ...this.#databases.finished.getKeys({ reverse: true, limit })]
    return keys.map(identityIn).flatMap((identity) => undefinedIfCorrupt(() => this.#find(identity)) ?? [])
  }

  async read(identity: string, paymentId?: string): Promise<ResponseRecord | undefined> {
    return this.#findConflict(identity, paymentId)
  }

  async unfinished(): Promise<string[]> {
    return this.#list({}).map(identityIn)
  }

  async due({ before, max }: { before: Date; max: number }): Promise<string[]> {
    const [time, late] = [before, lateAfter(before)].map((each) => each.toISOString())
    const keys = UNFINISHED_STATES.flatMap((state) => [
      ...this.#list({ start: `${state}:`, end: `${state}:${time}`, limit: max }),
      ...this.#list({ start: `${state}:${late}`, end: `${state};`, limit: max }),
    ])
    const byTime = keys.map((key) => key.slice(key.indexOf(':') + 1)).toSorted()
    return byTime.slice(0, max).map(identityIn)
  }

  async countUnfinished(): Promise<Map<RecordState, number>> {
    if (this.#former) return new Map([['unknown', this.#former.getKeysCount()]])
    // The range ends at the character after the colon.
    const rangeOf = (state: string) => ({ start: `${state}:`, end: `${state};` })
    return new Map(UNFINISHED_STATES.map((state) => [state, this.#databases.unfinished.getKeysCount(rangeOf(state))]))
  }

  /** Counts the sale in the same transaction, so the limit is exact over all processes. */
  async claim(record: ResponseRecord): Promise<Claim> {
    this.#checkReserve()
    const { identity, payment_id, prepared_at } = record
    return this.#transact((): Claim => {
      refuseOtherReceiver(this.#getOwner(), record)
      const existing = this.#findConflict(identity, payment_id)
      if (existing) return { kind: 'taken', record: existing }
      if (payment_id !== undefined && holderOf(payment_id, this.#databases) !== undefined)
        throw new CorruptRecordError('A payment id is taken, but its record does not exist')
      const sales = this.#readSales()
      const spending = spend(sales, { units: 1, max: this.#salesPerMinute, timeMs: Date.parse(prepared_at) })
      if (spending.kind === 'full') return spending
      this.#write(record, undefined, sales)
      return { kind: 'claimed', record }
    })
  }

  async countSales(): Promise<number> {
    return count(this.#readSales(), this.#now().getTime())
  }

  async countUnknown(prefix: string): Promise<number> {
    const keys = [...this.#databases.unfinished.getKeys({ start: 'unknown:', end: 'unknown;' })]
    return keys.filter((key) => identityIn(key).startsWith(prefix)).length
  }

  async advance(from: RecordVersion, change: RecordChange): Promise<ResponseRecord | undefined> {
    checkTransition(from, change)
    return this.#transact(() => {
      const current = this.#find(from.identity)
      if (!isVersion(current, from)) return undefined
      const next = applyChange(current, change)
      const sales = releasesSale(current, next) ? this.#readSales() : undefined
      if (sales) giveBack(sales, { at: secondOf(Date.parse(next.prepared_at)), units: 1 })
      this.#write(next, current, sales)
      return next
    })
  }

  async noteUnrecorded(payment: UnrecordedPayment): Promise<boolean> {
    this.#checkReserve()
    return this.#transact(() => {
      if (this.#databases.unrecorded.doesExist(payment.identity)) return false
      if (this.#databases.unrecorded.getKeysCount() >= UNRECORDED_MAX)
        throw new StoreError('The list of unrecorded payments is full')
      void this.#databases.unrecorded.put(payment.identity, payment)
      return true
    })
  }

  async unrecorded(): Promise<UnrecordedPayment[]> {
    return [...this.#databases.unrecorded.getRange({})].map(({ value }) => value)
  }

  prune({ before, max }: { before: Date; max: number }): Promise<number> {
    return this.#transact(() => {
      const { unrecorded, finished, changes } = this.#databases
      const time = before.toISOString()
      const listed = [...unrecorded.getRange({})]
      const keys = [...finished.getKeys({ end: time, limit: max })]
      noteChanges(changes, this.#now(), keys.map(identityIn))
      for (const { key, value } of listed) if (value.found_at < time) void unrecorded.remove(key)
      return keys.filter((key) => this.#removeFinished(key)).length
    })
  }

  close(): Promise<void> {
    this.#isClosed = true
    return this.#opened.environment.close()
  }

  /** A closed LMDB environment would throw later, where the error cannot be caught. */
  get #databases(): LogDatabases {
    if (this.#isClosed) throw new StoreError('The response log is closed')
    return this.#opened
  }

  async #transact<T>(change: () => T): Promise<T> {
    return awaitWrite(this.#databases.environment.transaction(change))
  }

  #getOwner(): LogOwner | undefined {
    const owner = this.#databases.environment.get(OWNER_KEY) as LogOwner | undefined
    // Logs of older versions have no list of receivers.
    return owner && { ...owner, receivers: owner.receivers ?? [owner.pay_to] }
  }

  #getPublicKeys(): AnnouncedKey[] {
    return (this.#databases.environment.get(PUBLIC_KEYS_KEY) as AnnouncedKey[] | undefined) ?? []
  }

  #list(range: RangeOptions): string[] {
    return [...(this.#former ?? this.#databases.unfinished).getKeys(range)]
  }

  #findConflict(identity: string, paymentId: string | undefined): ResponseRecord | undefined {
    const found = this.#find(identity)
    if (found || paymentId === undefined) return found
    const other = holderOf(paymentId, this.#databases)
    return other === undefined ? undefined : this.#find(other)
  }

  /** @throws CorruptRecordError like every read of a record */
  #find(identity: string): ResponseRecord | undefined {
    const bytes = this.#databases.records.getBinary(identity) ?? readFormerRecord(this.#former, identity)
    if (!bytes) return undefined
    const cached = this.#cache.get(identity)
    if (cached?.bytes.equals(bytes)) return cached.record
    const record = decodeRecord(bytes, identity)
    this.#cache.set(identity, { bytes, record })
    return record
  }

  #readSales(): SlidingMinute {
    return (this.#databases.environment.get(SALES_KEY) as SlidingMinute | undefined) ?? []
  }

  /** Writes a record and its indexes, inside a transaction. `sales` are written if they have changed. */
  #write(next: ResponseRecord, before: ResponseRecord | undefined, sales: SlidingMinute | undefined): void {
    const { environment, records, paymentIds, changes } = this.#databases
    const { identity, payment_id } = next
    const bytes = encodeRecord(next)
    const holder =
      payment_id === undefined ? undefined : undefinedIfCorrupt(() => holderOf(payment_id, this.#databases))
    const [listed, formerly] = [this.#placeOf(next), before && this.#placeOf(before)]
    const [isNowFinal, wasFinal] = [listed, formerly].map((place) => place?.set === this.#databases.finished)
    if (isNowFinal || wasFinal) noteChanges(changes, this.#now(), [identity])
    void records.put(identity, bytes)
    if (formerly?.key !== listed.key) {
      if (formerly) void formerly.set.remove(formerly.key)
      void listed.set.put(listed.key, true)
    }
    if (sales) void environment.put(SALES_KEY, sales)
    if (payment_id !== undefined) {
      if (isIdFree(next.state)) {
        if (holder === identity) void paymentIds.remove(payment_id)
      } else if (holder === undefined) void paymentIds.put(payment_id, identity)
    }
    this.#cache.set(identity, { bytes, record: next })
  }

  #placeOf(record: ResponseRecord): { set: Database<true, string>; key: string } {
    return isFinal(record.state)
      ? { set: this.#databases.finished, key: finishedKey(record) }
      : { set: this.#databases.unfinished, key: unfinishedKey(record) }
  }

  /** Inside a transaction. A corrupt record stays for the operator; only its key in `finished` is removed. */
  #removeFinished(key: string): boolean {
    void this.#databases.finished.remove(key)
    const identity = identityIn(key)
    const record = undefinedIfCorrupt(() => this.#find(identity))
    if (!record || !isFinal(record.state) || finishedKey(record) !== key) return false
    removeFromIndexes(record, this.#databases)
    void this.#databases.records.remove(identity)
    this.#cache.delete(identity)
    return true
  }
}
