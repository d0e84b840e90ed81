/** The key ranges of the response log in LMDB. `store/files/layout.ts` lists their keys and values. */
import { hash } from 'node:crypto'
import { asBinary, type Database, type RangeOptions, type RootDatabase } from 'lmdb'
import { DAY_MS } from '../base/day.ts'
import { CorruptRecordError, undefinedIfCorrupt } from '../files/checksum.ts'
import { finishedKey, FORMER_LAYOUT_VERSION, LAYOUT_KEY, recordKeyIn, type Layout } from '../files/layout.ts'
import { decodeRecord, otherKey, type ResponseRecord, type UnrecordedPayment } from './record.ts'

type Environment = RootDatabase<unknown, string>
/** `asBinary` gives the second one its type. */
type Stored<Value> = Value | ReturnType<typeof asBinary>

/**
 * An entry for each final record that is written or removed, or that stops being final. An incremental backup copies
 * the records of the entries since its parent. Other records need none: each backup copies all of them.
 */
interface Change {
  /** Of the record. */
  readonly key: string
  /** ISO 8601, in UTC. */
  readonly at: string
}

/** Longer than the week for which incremental backups build on a full one. */
const CHANGES_KEPT_MS = 8 * DAY_MS
const CHANGES_PER_REMOVAL = 50

/**
 * The keys with one prefix, used like a database. A commit writes fewer pages for ranges of one tree than for several
 * trees. `put` and `remove` are called inside a transaction.
 */
export class KeyRange<Value> {
  readonly #tree: Database<unknown, string>
  readonly #prefix: string
  /** Values that an upgrade has left where they were. Their keys have no prefix. */
  readonly #former: Database<unknown, string> | undefined

  constructor(tree: Database<unknown, string>, prefix: string, former?: Database<unknown, string>) {
    this.#tree = tree
    this.#prefix = prefix
    this.#former = former
  }

  get(key: string): Value | undefined {
    return this.#tree.get(this.#prefix + key) as Value | undefined
  }

  getBinary(key: string): Buffer | undefined {
    return this.#tree.getBinary(this.#prefix + key) ?? this.#former?.getBinary(key)
  }

  /** In a buffer that the next read of any value changes. Saves a copy of the value. */
  view(key: string): Buffer | undefined {
    const bytes = this.#tree.getBinaryFast(this.#prefix + key) ?? this.#former?.getBinaryFast(key)
    return bytes?.subarray(0, bytes.length)
  }

  put(key: string, value: Stored<Value>): void {
    void this.#tree.put(this.#prefix + key, value)
  }

  remove(key: string): void {
    void this.#tree.remove(this.#prefix + key)
    if (this.#former) void this.#former.remove(key)
  }

  *keys(range: RangeOptions & { start?: string; end?: string } = {}): Iterable<string> {
    for (const key of this.#tree.getKeys(this.#bounds(range))) yield key.slice(this.#prefix.length)
    if (this.#former) yield* this.#former.getKeys(range)
  }

  count(range: { start?: string; end?: string } = {}): number {
    return this.#tree.getKeysCount(this.#bounds(range))
  }

  #bounds({ start = '', end, ...options }: RangeOptions & { start?: string; end?: string }): RangeOptions {
    if (this.#prefix === '') return { ...(start !== '' && { start }), ...(end !== undefined && { end }), ...options }
    // The range ends at the character after the colon of the prefix.
    const from = this.#prefix + start
    const to = end === undefined ? `${this.#prefix.slice(0, -1)};` : this.#prefix + end
    return { ...(options.reverse === true ? { start: to, end: from } : { start: from, end: to }), ...options }
  }
}

export type LogRanges = ReturnType<typeof openRanges>

/** When only reading a log of the layout before, the lists are its databases. */
export function openRanges(environment: Environment) {
  const { version, hasFormerRecords = false } = environment.get(LAYOUT_KEY) as Layout
  const isFormer = version === FORMER_LAYOUT_VERSION.responses
  const range = <Value>(name: string) => new KeyRange<Value>(environment, `${name}:`)
  const open = <Value>(name: string, former: string) =>
    isFormer ? new KeyRange<Value>(openFormer(environment, former), '') : range<Value>(name)
  const records = isFormer || hasFormerRecords ? openFormer(environment, 'records') : undefined
  return {
    environment,
    identities: range<string>('identity'),
    records: new KeyRange<never>(environment, 'claim:', records),
    progress: range<never>('progress'),
    unfinished: open<never>('unfinished', 'unfinished'),
    finished: open<true>('finished', 'finished'),
    paymentIds: open<string>('payment-id', 'payment-ids'),
    /** The key of a payment id. */
    paymentIdKey: isFormer ? (paymentId: string) => paymentId : digestOf,
    unrecorded: open<UnrecordedPayment>('unrecorded', 'unrecorded'),
    notes: range<string>('note'),
    changes: range<Change>('change'),
    /** Only in an incremental backup. */
    removed: range<true>('removed'),
  }
}

/** 132 bits, so that no two payments have the same. Short, because long keys make a deep tree. */
const DIGEST_CHARACTERS = 22
export const digestOf = (text: string) => hash('sha256', text, 'base64url').slice(0, DIGEST_CHARACTERS)

export const newRecordKey = ({ prepared_at, identity }: Pick<ResponseRecord, 'prepared_at' | 'identity'>) =>
  `${Date.parse(prepared_at)}-${digestOf(identity)}`
/** Undefined for the key of a record of layout 2. */
const digestIn = (key: string) => /^[0-9]+-(.+)$/.exec(key)?.[1]

export const openFormer = (environment: Environment, name: string) =>
  environment.openDB<unknown, string>({ name, encoding: 'json' })

const CHANGE_DIGITS = 12
export const changeKey = (number: number) => String(number).padStart(CHANGE_DIGITS, '0')

/** Call inside a transaction. Never removes the newest change, so no number is used twice. */
export function noteChanges(changes: LogRanges['changes'], now: Date, keys: readonly string[]): void {
  const newest = newestChange(changes)
  // Not each time, because reading a range takes longer than a write.
  const oldest = newest % CHANGES_PER_REMOVAL === 0 ? [...changes.keys({ limit: 4 * CHANGES_PER_REMOVAL })] : []
  for (const key of oldest) if (Number(key) < newest && isOld(changes, key, now)) changes.remove(key)
  for (const [index, key] of keys.entries()) changes.put(changeKey(newest + index + 1), { key, at: now.toISOString() })
}

/** The number of the newest change. 0 without one. */
export function newestChange(changes: LogRanges['changes']): number {
  const [newest = 0] = changes.keys({ reverse: true, limit: 1 })
  return Number(newest)
}

/** False for a damaged change. It stays, so that an increment that needs it fails, but no final outcome fails. */
function isOld(changes: LogRanges['changes'], key: string, now: Date): boolean {
  try {
    // A time far in the future was written while the clock was wrong.
    return Math.abs(now.getTime() - Date.parse(changes.get(key)?.at ?? '')) > CHANGES_KEPT_MS
  } catch {
    return false
  }
}

/**
 * The key of the record that has a payment id.
 * @throws CorruptRecordError
 */
export function holderOf(paymentId: string, { paymentIds, paymentIdKey }: LogRanges): string | undefined {
  return readKey(paymentIds, paymentIdKey(paymentId))
}

/** @throws CorruptRecordError */
export function readKey(range: KeyRange<string>, key: string): string | undefined {
  try {
    return range.get(key)
  } catch (cause) {
    throw new CorruptRecordError('The key of a record cannot be read', { cause })
  }
}

/** The identity of a payment in `unfinished`. */
export function identityAt({ unfinished }: LogRanges, key: string): string {
  const identity = String(unfinished.getBinary(key))
  // Layout 2 had it in the key.
  return identity === 'true' ? recordKeyIn(key) : identity
}

/**
 * The present record.
 * @throws CorruptRecordError
 */
export function readRecord({ records, progress }: LogRanges, key: string): ResponseRecord | undefined {
  const bytes = records.getBinary(key)
  return bytes && decodeStored(key, bytes, progress.getBinary(key))
}

/** @throws CorruptRecordError */
export function decodeStored(key: string, bytes: Buffer, progress: Buffer | undefined): ResponseRecord {
  const record = decodeRecord(bytes, progress)
  const digest = digestIn(key)
  if (digest === undefined ? key !== record.identity : digest !== digestOf(record.identity)) throw otherKey()
  return record
}

/** Inside a transaction. */
export function removeRecord({ identities, records, progress }: LogRanges, key: string): void {
  const digest = digestIn(key)
  if (digest !== undefined && undefinedIfCorrupt(() => readKey(identities, digest)) === key) identities.remove(digest)
  records.remove(key)
  progress.remove(key)
}

/** Inside a transaction, as bytes, because a record may be damaged. Returns whether there is one. */
export function copyRecord(from: LogRanges, to: LogRanges, key: string): boolean {
  const [record, progress, digest] = [from.records.getBinary(key), from.progress.getBinary(key), digestIn(key)]
  if (record && digest !== undefined) to.identities.put(digest, key)
  if (record) to.records.put(key, asBinary(record))
  if (progress) to.progress.put(key, asBinary(progress))
  return record !== undefined
}

/** Inside a transaction. Removes a record from `finished` and the payment ids. */
export function removeFromIndexes(record: ResponseRecord, key: string, ranges: LogRanges): void {
  const { finished, paymentIds, paymentIdKey } = ranges
  finished.remove(finishedKey(record, key))
  const { payment_id } = record
  if (payment_id !== undefined && undefinedIfCorrupt(() => holderOf(payment_id, ranges)) === key)
    paymentIds.remove(paymentIdKey(payment_id))
}
