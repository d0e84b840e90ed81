/**
 * The changes of a response log since an earlier backup. The increment is an environment of the same layout with
 * the records that are not final, the final ones that have changed since, their payment ids, the small values, and the
 * identities of the removed ones. The list of unfinished records is complete; that of final ones is not in it.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { asBinary, type Database, type RootDatabase } from 'lmdb'
import { undefinedIfCorrupt } from '../files/checksum.ts'
import { openEnvironment, StoreError } from '../files/environment.ts'
import { EPOCH_KEY, finishedKey, identityIn, OWNER_KEY, PUBLIC_KEYS_KEY, SALES_KEY } from '../files/layout.ts'
import { holderOf, openDatabases, removeFromIndexes, type LogDatabases } from '../log/databases.ts'
import { recordsIn } from '../log/former-layout.ts'
import { decodeRecord, isFinal } from '../log/record.ts'
import type { LogState } from './folder.ts'

type Environment = RootDatabase<unknown, string>

const SMALL_VALUES = [OWNER_KEY, PUBLIC_KEYS_KEY, SALES_KEY]
/** For one transaction, whose pages LMDB keeps in memory. */
const ITEMS_PER_TRANSACTION = 200

/**
 * Writes the changes of the log since the state `before`. Reads the log without `await`, because lmdb shows one state
 * to all reads in one iteration of the event loop, unless a database of the log is opened between them. `check` is
 * called before each transaction.
 * @returns the state of the log. Undefined if not all changes since `before` are known
 */
export async function writeIncrement(
  { from, to, before }: { from: string; to: string; before: LogState | undefined },
  check: () => void,
): Promise<LogState | undefined> {
  const source = openEnvironment({ folder: from, kind: 'responses', readOnly: true })
  let target: Environment | undefined
  try {
    const log = openDatabases(source)
    const state = readState(log)
    const identities = state && before && findChanged(log, state, before)
    if (!identities) return undefined
    target = openEnvironment({ folder: to, kind: 'responses' })
    copyChanged(log, openDatabases(target), identities, check)
    return state
  } finally {
    await Promise.all([source.close(), target?.close()])
  }
}

/** What a later increment is compared with. Undefined if no process of this version has written to the log. */
function readState({ environment, changes }: LogDatabases): LogState | undefined {
  const epoch = environment.get(EPOCH_KEY) as string | undefined
  if (epoch === undefined) return undefined
  const [newest] = changes.getRange({ reverse: true, limit: 1 })
  return { epoch, change: newest?.key ?? 0, changed_at: newest?.value.at ?? null }
}

function findChanged({ unfinished, changes }: LogDatabases, state: LogState, before: LogState): string[] | undefined {
  const isSameLog = state.epoch === before.epoch && (changes.get(before.change)?.at ?? null) === before.changed_at
  const changed = [...changes.getRange({ start: before.change, exclusiveStart: true })].map(({ value }) => value)
  // Numbers in the middle are missing if changes expired that were noted while the clock was wrong.
  if (!isSameLog || changed.length !== state.change - before.change) return undefined
  const identities = new Set(changed.map(({ identity }) => identity))
  for (const key of unfinished.getKeys()) identities.add(identityIn(key))
  return [...identities]
}

function copyChanged(log: LogDatabases, target: LogDatabases, identities: readonly string[], check: () => void): void {
  const removed = openRemoved(target)
  const copy = (identity: string) => {
    const bytes = log.records.get(identity)
    if (bytes) target.records.putSync(identity, bytes)
    else removed.putSync(identity, true)
  }
  inTransactions(target, identities, copy, check)
  // Found by their records and not by the ids in them, because a damaged record keeps its payment id.
  const holders = new Set<string | undefined>(identities)
  const isHeld = (id: string) => holders.has(undefinedIfCorrupt(() => holderOf(id, log)))
  const held = Array.from(log.paymentIds.getKeys().filter(isHeld))
  inTransactions(target, held, (id) => target.paymentIds.putSync(id, String(holderOf(id, log))), check)
  copySmall(log, target)
}

/** Brings a copy of the log to the state of an increment. A kill leaves a copy that cannot be used. */
export function applyIncrement(logEnvironment: Environment, incrementEnvironment: Environment): void {
  const [log, increment] = [openDatabases(logEnvironment), openDatabases(incrementEnvironment)]
  const recordIn = ({ records }: LogDatabases, identity: string) => {
    const bytes = records.get(identity)
    return bytes && undefinedIfCorrupt(() => decodeRecord(bytes, identity))
  }
  inTransactions(log, [...openRemoved(increment).getKeys(), ...increment.records.getKeys()], (identity) => {
    const former = recordIn(log, identity)
    if (former) removeFromIndexes(former, log)
    const bytes = increment.records.get(identity)
    if (!bytes) return log.records.removeSync(identity)
    const record = recordIn(increment, identity)
    if (record && isFinal(record.state)) log.finished.putSync(finishedKey(record), true)
    return log.records.putSync(identity, bytes)
  })
  const held = [...increment.paymentIds.getRange({})]
  inTransactions(log, held, ({ key, value }) => log.paymentIds.putSync(key, value))
  copySmall(increment, log)
}

/** No value is ever removed from a log. */
function copySmall(from: LogDatabases, to: LogDatabases): void {
  to.environment.transactionSync(() => {
    for (const key of SMALL_VALUES)
      if (from.environment.doesExist(key)) to.environment.putSync(key, from.environment.get(key))
    copyList(from.unfinished, to.unfinished)
    copyList(from.unrecorded, to.unrecorded)
  })
}

/** As bytes, because a value may be damaged. */
function copyList(from: Database<unknown, string>, to: Database<unknown, string>): void {
  to.clearSync()
  for (const key of from.getKeys()) to.putSync(key, asBinary(from.getBinary(key) ?? Buffer.alloc(0)))
}

function inTransactions<T>(
  { environment }: LogDatabases,
  items: readonly T[],
  write: (item: T) => unknown,
  check?: () => void,
): void {
  for (let from = 0; from < items.length; from += ITEMS_PER_TRANSACTION) {
    check?.()
    const some = items.slice(from, from + ITEMS_PER_TRANSACTION)
    environment.transactionSync(() => some.forEach(write))
  }
}

/** The identities of the records that were removed since the parent backup. Only an increment has this database. */
const openRemoved = ({ environment }: LogDatabases) =>
  environment.openDB<true, string>({ name: 'removed', encoding: 'json' })

/**
 * Reads every record of a log in a folder that no other process uses. `damaged` ones do not match their checksum: the
 * service refuses their payments, and the other records work.
 */
export async function inspectLog(folder: string) {
  const environment = openEnvironment({ folder, kind: 'responses', readOnly: true })
  try {
    const counts = { records: 0, damaged: 0 }
    for (const { key, value } of recordsIn(environment))
      counts[undefinedIfCorrupt(() => decodeRecord(value, key)) ? 'records' : 'damaged'] += 1
    return { counts, state: readState(openDatabases(environment)) }
  } catch (cause) {
    throw new StoreError(`${folder}: the response log cannot be read`, { cause })
  } finally {
    await environment.close()
    await rm(join(folder, 'lock.mdb'), { force: true })
  }
}
