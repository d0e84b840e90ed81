/**
 * Layout version 1 of the response log. Its database `unfinished` had the records that are not final, each after a
 * revision. Commands read it as it is; the first process that writes upgrades it.
 */
import type { RootDatabase } from 'lmdb'
import { undefinedIfCorrupt } from '../files/checksum.ts'
import { readerIdsOf, StoreError } from '../files/environment.ts'
import {
  FORMER_LAYOUT_VERSION,
  identityIn,
  LAYOUT_KEY,
  LAYOUT_VERSION,
  RECORDS_DATABASE,
  UNFINISHED_DATABASE,
  unfinishedKey,
} from '../files/layout.ts'
import { decodeRecord } from './record.ts'

type Environment = RootDatabase<unknown, string>

/** The revision is a double in front of the record. */
const REVISION_BYTES = 8

/** The records of version 1 that are not final. */
export interface FormerRecords {
  /** Their keys in `unfinished` of the present layout, in order. */
  keys: readonly string[]
  /** What `records` of the present layout has. Empty if the value is shorter than its revision. */
  getBinary(identity: string): Buffer | undefined
}

/** Undefined if the environment has the present layout. */
export function openFormerRecords(environment: Environment): FormerRecords | undefined {
  const { version } = environment.get(LAYOUT_KEY) as { version: number }
  if (version !== FORMER_LAYOUT_VERSION.responses) return undefined
  const database = environment.openDB<Buffer, string>({ name: UNFINISHED_DATABASE, encoding: 'binary' })
  const getBinary = (identity: string) => database.getBinary(identity)?.subarray(REVISION_BYTES)
  const keys = [...database.getKeys()].map((identity) => {
    const record = undefinedIfCorrupt(() => decodeRecord(getBinary(identity) ?? Buffer.alloc(0)))
    // A damaged record is listed, so that the operator notices it.
    return unfinishedKey({ state: 'unknown', prepared_at: '', ...record, identity })
  })
  return { keys: keys.toSorted(), getBinary }
}

/** Every record of an environment of either layout, also damaged ones. */
export function* recordsIn(environment: Environment): Iterable<{ key: string; value: Buffer }> {
  yield* environment.openDB<Buffer, string>({ name: RECORDS_DATABASE, encoding: 'binary' }).getRange({})
  const former = openFormerRecords(environment)
  for (const key of (former?.keys ?? []).map(identityIn))
    yield { key, value: former?.getBinary(key) ?? Buffer.alloc(0) }
}

/**
 * Moves the records that are not final to the others, so a large log takes seconds, and a kill changes nothing.
 * @throws StoreError while another process has the environment open: one of the version before checks the layout only
 * when it opens it, and would write version 1
 */
export function upgradeLayout(environment: Environment): void {
  const records = environment.openDB<Buffer, string>({ name: RECORDS_DATABASE, encoding: 'binary' })
  const unfinished = environment.openDB<true, string>({ name: UNFINISHED_DATABASE, encoding: 'json' })
  environment.transactionSync(() => {
    const former = openFormerRecords(environment)
    for (const key of former?.keys ?? []) {
      const identity = identityIn(key)
      records.putSync(identity, former?.getBinary(identity) ?? Buffer.alloc(0))
      unfinished.removeSync(identity)
      unfinished.putSync(key, true)
    }
    environment.putSync(LAYOUT_KEY, { kind: 'responses', version: LAYOUT_VERSION.responses })
    // Last, so that a process that was started meanwhile is seen too.
    const others = readerIdsOf(environment).filter((id) => id !== process.pid)
    if (others.length > 0)
      throw new StoreError(`The response log needs an upgrade: stop the processes that use it (${others.join(', ')})`)
  })
}

/** The keys of a range, as `getKeys` of LMDB finds them. */
export function keysInRange(
  { keys }: FormerRecords,
  { start = '', end, exclusiveStart = false, limit }: KeyRange,
): string[] {
  const isInside = (key: string) => (exclusiveStart ? key > start : key >= start) && (end === undefined || key < end)
  return keys.filter(isInside).slice(0, limit)
}

/** A part of the options of LMDB. */
export interface KeyRange {
  start?: string
  /** Exclusive. */
  end?: string
  exclusiveStart?: boolean
  limit?: number
}
