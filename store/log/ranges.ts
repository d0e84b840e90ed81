/** The key ranges of the response log in LMDB. `store/files/layout.ts` lists their keys and values. */
import { hash } from 'node:crypto'
import { asBinary, type RangeOptions, type RootDatabase } from 'lmdb'
import { CorruptRecordError, undefinedIfCorrupt } from '../files/checksum.ts'
import type { StoredDocument } from './documents.ts'
import { decodeRecord, otherKey, type ResponseRecord } from './record.ts'

type Environment = RootDatabase<unknown, string>
/** `asBinary` gives the second one its type. */
type Stored<Value> = Value | ReturnType<typeof asBinary>
interface Bounds {
  start?: string
  end?: string
}

/**
 * The keys with one prefix, used like a database. A commit writes fewer pages for ranges of one tree than for several
 * trees. `put` and `remove` are called inside a transaction.
 */
export class KeyRange<Value> {
  readonly #tree: Environment
  /** Ends in a colon. */
  readonly #prefix: string

  constructor(tree: Environment, name: string) {
    this.#tree = tree
    this.#prefix = `${name}:`
  }

  get(key: string): Value | undefined {
    return this.#tree.get(this.#prefix + key) as Value | undefined
  }

  getBinary(key: string): Buffer | undefined {
    return this.#tree.getBinary(this.#prefix + key)
  }

  put(key: string, value: Stored<Value>): void {
    void this.#tree.put(this.#prefix + key, value)
  }

  remove(key: string): void {
    void this.#tree.remove(this.#prefix + key)
  }

  *keys(range: Bounds & RangeOptions = {}): Iterable<string> {
    for (const key of this.#tree.getKeys(this.#bounds(range))) yield key.slice(this.#prefix.length)
  }

  count(range: Bounds = {}): number {
    return this.#tree.getKeysCount(this.#bounds(range))
  }

  #bounds({ start = '', end, ...options }: Bounds & RangeOptions): RangeOptions {
    // The range ends at the character after the colon of the prefix.
    const from = this.#prefix + start
    const to = end === undefined ? `${this.#prefix.slice(0, -1)};` : this.#prefix + end
    return { ...(options.reverse === true ? { start: to, end: from } : { start: from, end: to }), ...options }
  }
}

export type LogRanges = ReturnType<typeof openRanges>

export function openRanges(environment: Environment) {
  const range = <Value>(name: string) => new KeyRange<Value>(environment, name)
  return {
    environment,
    identities: range<string>('identity'),
    records: range<never>('claim'),
    progress: range<never>('progress'),
    unfinished: range<never>('unfinished'),
    finished: range<never>('finished'),
    paymentIds: range<string>('payment-id'),
    documents: range<StoredDocument<unknown>>('document'),
  }
}

/** 132 bits, so that no two payments have the same. Short, because long keys make a deep tree. */
const DIGEST_CHARACTERS = 22
export const digestOf = (text: string) => hash('sha256', text, 'base64url').slice(0, DIGEST_CHARACTERS)

/** @param digest that of the identity, by {@link digestOf} */
export const newRecordKey = (preparedAt: string, digest: string) => `${Date.parse(preparedAt)}-${digest}`
const digestIn = (key: string) => key.slice(key.indexOf('-') + 1)

/**
 * The key of the record that has a payment id.
 * @throws CorruptRecordError
 */
export function holderOf(paymentId: string | undefined, { paymentIds }: LogRanges): string | undefined {
  return paymentId === undefined ? undefined : readKey(paymentIds, digestOf(paymentId))
}

/** @throws CorruptRecordError */
export function readKey(range: KeyRange<string>, key: string): string | undefined {
  try {
    return range.get(key)
  } catch (cause) {
    throw new CorruptRecordError('The key of a record cannot be read', { cause })
  }
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
  if (digestIn(key) !== digestOf(record.identity)) throw otherKey()
  return record
}

/** Inside a transaction. */
export function removeRecord({ identities, records, progress }: LogRanges, key: string): void {
  const digest = digestIn(key)
  if (undefinedIfCorrupt(() => readKey(identities, digest)) === key) identities.remove(digest)
  records.remove(key)
  progress.remove(key)
}
