/**
 * The changes of a response log since an earlier backup. The increment is an environment of the same layout with
 * the records that are not final, the final ones that have changed since, their payment ids, the small values, and the
 * identities of the removed ones. The list of unfinished records is complete; that of final ones is not in it.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { RootDatabase } from 'lmdb'
import { undefinedIfCorrupt } from '../files/checksum.ts'
import { openEnvironment, StoreError } from '../files/environment.ts'
import {
  CHANGES_DATABASE,
  EPOCH_KEY,
  FINISHED_DATABASE,
  finishedKey,
  identityIn,
  OWNER_KEY,
  PAYMENT_IDS_DATABASE,
  PUBLIC_KEYS_KEY,
  RECORDS_DATABASE,
  REMOVED_DATABASE,
  SALES_KEY,
  UNFINISHED_DATABASE,
  UNRECORDED_DATABASE,
} from '../files/layout.ts'
import type { Change } from '../log/changes.ts'
import { recordsIn } from '../log/former-layout.ts'
import { decodeRecord, isFinal } from '../log/record.ts'
import type { LogState } from './folder.ts'

type Environment = RootDatabase<unknown, string>

const TRUE = Buffer.from('true')

const SMALL_VALUES = [OWNER_KEY, PUBLIC_KEYS_KEY, SALES_KEY]
/** For one transaction, whose pages LMDB keeps in memory. */
const ITEMS_PER_TRANSACTION = 200

/**
 * Writes the changes of the log since the state `before`. Reads the log without `await`, because all reads of one
 * event turn see the same state (lmdb). `check` is called before each transaction.
 * @returns the state of the log, or the reason why nothing can be built on `before`
 */
export async function writeIncrement(
  { from, to, before }: { from: string; to: string; before: LogState | undefined },
  check: () => void,
): Promise<{ kind: 'increment'; state: LogState } | { kind: 'full'; reason: string }> {
  const source = openEnvironment({ folder: from, kind: 'responses', readOnly: true })
  let target: Environment | undefined
  try {
    const log = openDatabases(source)
    const found = findChanged(log, before)
    if (found.kind === 'full') return found
    target = openEnvironment({ folder: to, kind: 'responses' })
    copyChanged(log, openDatabases(target), found.identities, check)
    return { kind: 'increment', state: found.state }
  } finally {
    await Promise.all([source.close(), target?.close()])
  }
}

/** What a later increment is compared with. Undefined if no process of this version has written to the log. */
function readState({ values, changes, finished }: Databases): LogState | undefined {
  const epoch = values.get(EPOCH_KEY) as string | undefined
  if (epoch === undefined) return undefined
  const [newest] = changes.getRange({ reverse: true, limit: 1 })
  const [newest_final = ''] = finished.getKeys({ reverse: true, limit: 1 })
  const { key: change, value } = newest ?? { key: 0, value: undefined }
  return { epoch, change, changed_at: value?.at ?? null, finals: finished.getKeysCount(), newest_final }
}

function findChanged(log: Databases, before: LogState | undefined) {
  const full = (reason: string) => ({ kind: 'full', reason }) as const
  const { finished, unfinished, changes } = log
  const state = readState(log)
  if (!state || state.epoch !== before?.epoch) return full('the last one is of another log or of an earlier version')
  const changed = [...changes.getRange({ start: before.change, exclusiveStart: true })].map(({ value }) => value)
  const isKnown = (changes.get(before.change)?.at ?? null) === before.changed_at
  // Numbers in the middle are missing if changes expired that were noted while the clock was wrong.
  if (!isKnown || changed.length !== state.change - before.change)
    return full('the changes since the last one are not known')
  const identities = new Set(changed.map(({ identity }) => identity))
  const sum = changed.reduce((total, { finals }) => total + finals, before.finals)
  const added = [...finished.getKeys({ start: before.newest_final, exclusiveStart: true })].map(identityIn)
  if (sum !== state.finals || added.some((identity) => !identities.has(identity)))
    return full('an earlier version of this program has written to the log')
  for (const key of unfinished.getKeys()) identities.add(identityIn(key))
  return { kind: 'increment', state, identities: [...identities] } as const
}

function copyChanged(log: Databases, target: Databases, identities: readonly string[], check: () => void): void {
  const removed = target.openRemoved()
  const copy = (identity: string) => {
    const bytes = log.records.get(identity)
    if (bytes) target.records.putSync(identity, bytes)
    else removed.putSync(identity, TRUE)
  }
  inTransactions(target, identities, copy, check)
  // Found by their records and not by the ids in them, because a damaged record keeps its payment id.
  const holders = new Set(identities.map((identity) => JSON.stringify(identity)))
  const held = Array.from(log.paymentIds.getRange({}).filter(({ value }) => holders.has(value.toString())))
  inTransactions(target, held, ({ key, value }) => target.paymentIds.putSync(key, value), check)
  copySmall(log, target)
}

/** Brings a copy of the log to the state of an increment. A kill leaves a copy that cannot be used. */
export function applyIncrement(logEnvironment: Environment, incrementEnvironment: Environment): void {
  const [log, increment] = [openDatabases(logEnvironment), openDatabases(incrementEnvironment)]
  inTransactions(log, [...increment.openRemoved().getKeys()], (identity) => {
    removeFromIndexes(log, identity)
    log.records.removeSync(identity)
  })
  inTransactions(log, [...increment.records.getKeys()], (identity) => {
    const bytes = increment.records.get(identity) ?? Buffer.alloc(0)
    removeFromIndexes(log, identity)
    log.records.putSync(identity, bytes)
    const record = undefinedIfCorrupt(() => decodeRecord(bytes, identity))
    if (record && isFinal(record.state)) log.finished.putSync(finishedKey(record), TRUE)
  })
  inTransactions(log, [...increment.paymentIds.getRange({})], ({ key, value }) => log.paymentIds.putSync(key, value))
  copySmall(increment, log)
}

function removeFromIndexes({ records, finished, paymentIds }: Databases, identity: string): void {
  const bytes = records.get(identity)
  const record = bytes && undefinedIfCorrupt(() => decodeRecord(bytes, identity))
  if (!record) return
  finished.removeSync(finishedKey(record))
  const { payment_id } = record
  if (payment_id !== undefined && paymentIds.get(payment_id)?.toString() === JSON.stringify(identity))
    paymentIds.removeSync(payment_id)
}

/** No value is ever removed from a log. */
function copySmall(from: Databases, to: Databases): void {
  to.values.transactionSync(() => {
    for (const key of SMALL_VALUES) if (from.values.doesExist(key)) to.values.putSync(key, from.values.get(key))
    for (const name of ['unfinished', 'unrecorded'] as const) {
      for (const key of Array.from(to[name].getKeys())) to[name].removeSync(key)
      for (const { key, value } of from[name].getRange()) to[name].putSync(key, value)
    }
  })
}

function inTransactions<T>(to: Databases, items: readonly T[], write: (item: T) => unknown, check?: () => void): void {
  for (let from = 0; from < items.length; from += ITEMS_PER_TRANSACTION) {
    check?.()
    const some = items.slice(from, from + ITEMS_PER_TRANSACTION)
    to.values.transactionSync(() => some.forEach(write))
  }
}

type Databases = ReturnType<typeof openDatabases>

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

/** When only reading, a database that the log does not have is undefined. */
function openDatabases(values: Environment) {
  const open = (name: string) => values.openDB<Buffer, string>({ name, encoding: 'binary' })
  return {
    values,
    records: open(RECORDS_DATABASE),
    unfinished: open(UNFINISHED_DATABASE),
    finished: open(FINISHED_DATABASE),
    paymentIds: open(PAYMENT_IDS_DATABASE),
    unrecorded: open(UNRECORDED_DATABASE),
    changes: values.openDB<Change, number>({ name: CHANGES_DATABASE, encoding: 'json' }),
    /** Only in an increment. */
    openRemoved: () => open(REMOVED_DATABASE),
  }
}
