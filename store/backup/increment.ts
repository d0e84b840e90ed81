/**
 * What a response log has more than an earlier backup of it. The increment is an environment of the same layout with
 * the records that are not final, the final ones that have changed since, their payment ids, the small values, and the
 * identities of the removed ones. The list of unfinished records is complete; that of final ones is not in it.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Database, RootDatabase } from 'lmdb'
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
import { decodeRecord, isFinal, type ResponseRecord } from '../log/record.ts'
import type { Backup, LogState, Manifest } from './folder.ts'

type Environment = RootDatabase<unknown, string>

const TRUE = Buffer.from('true')

const SMALL_VALUES = [OWNER_KEY, PUBLIC_KEYS_KEY, SALES_KEY]
/** For one transaction, whose pages LMDB keeps in memory. */
const RECORDS_PER_TRANSACTION = 200

/** `full`: the reason why nothing can be built on the parent. */
type IncrementResult = { kind: 'increment'; parent: Backup; state: LogState } | { kind: 'full'; reason: string }

/**
 * Writes what the log has more than the parent. Reads it without `await`, because all reads of one event turn see the
 * same state (lmdb). `check` is called before each transaction.
 */
export async function writeIncrement(
  { from, to, parent }: { from: string; to: string; parent: Backup },
  check: () => void,
): Promise<IncrementResult> {
  const source = openEnvironment({ folder: from, kind: 'responses', readOnly: true })
  let target: Environment | undefined
  try {
    const log = openDatabases(source)
    const found = findChanged(log, parent.manifest)
    if (found.kind === 'full') return found
    target = openEnvironment({ folder: to, kind: 'responses' })
    copyChanged(log, openDatabases(target), found.identities, check)
    return { kind: 'increment', parent, state: found.state }
  } finally {
    await Promise.all([source.close(), target?.close()])
  }
}

/** What a later increment is compared with. Undefined if no process of this version has written to the log. */
function readState({ values, changes, finished }: Databases): LogState | undefined {
  const epoch = values.get(EPOCH_KEY) as string | undefined
  if (epoch === undefined) return undefined
  const [newest] = changes.getRange({ reverse: true, limit: 1 })
  return { epoch, change: newest?.key ?? 0, changed_at: newest?.value.at ?? null, finals: finished.getKeysCount() }
}

function findChanged(log: Databases, { log: before, created_at }: Manifest) {
  const full = (reason: string) => ({ kind: 'full', reason }) as const
  const { finished, unfinished, changes } = log
  const state = readState(log)
  if (!state || state.epoch !== before?.epoch) return full('the last one is of another log or of an earlier version')
  const [first = 1] = changes.getKeys({ limit: 1 })
  if (first > before.change + 1 || (changes.get(before.change)?.at ?? null) !== before.changed_at)
    return full('the changes since the last one are not known')
  const changed = [...changes.getRange({ start: before.change, exclusiveStart: true })].map(({ value }) => value)
  const identities = new Set(changed.map(({ identity }) => identity))
  const sum = changed.reduce((total, { finals }) => total + finals, before.finals)
  // A record of the same millisecond can be in the parent.
  const newest = [...finished.getKeys({ start: `${created_at}!` })].map(identityIn)
  if (sum !== state.finals || newest.some((identity) => !identities.has(identity)))
    return full('an earlier version of this program has written to the log')
  for (const key of unfinished.getKeys()) identities.add(identityIn(key))
  return { kind: 'increment', state, identities: [...identities] } as const
}

function copyChanged(log: Databases, target: Databases, identities: readonly string[], check: () => void): void {
  const removed = openRemoved(target)
  const copy = (identity: string) => {
    const bytes = log.records.get(identity)
    if (bytes) target.records.putSync(identity, bytes)
    else removed.putSync(identity, TRUE)
    const paymentId = bytes && undefinedIfCorrupt(() => decodeRecord(bytes))?.payment_id
    if (paymentId !== undefined) replace(target.paymentIds, paymentId, log.paymentIds.get(paymentId))
  }
  inTransactions(target, identities, copy, check)
  copySmall(log, target)
}

/** Brings a copy of the log to the state of an increment. A kill leaves a copy that cannot be used. */
export function applyIncrement(logEnvironment: Environment, incrementEnvironment: Environment): void {
  const [log, increment] = [openDatabases(logEnvironment), openDatabases(incrementEnvironment)]
  inTransactions(log, [...openRemoved(increment).getKeys()], (identity) => {
    freePaymentId(log, unlistFinal(log, identity))
    log.records.removeSync(identity)
  })
  inTransactions(log, [...increment.records.getKeys()], (identity) => {
    const bytes = increment.records.get(identity) ?? Buffer.alloc(0)
    const record = undefinedIfCorrupt(() => decodeRecord(bytes, identity))
    const before = unlistFinal(log, identity)
    log.records.putSync(identity, bytes)
    // A damaged record keeps its payment id.
    if (!record) return
    freePaymentId(log, before)
    const { payment_id, state } = record
    if (isFinal(state)) log.finished.putSync(finishedKey(record), TRUE)
    if (payment_id !== undefined) replace(log.paymentIds, payment_id, increment.paymentIds.get(payment_id))
  })
  copySmall(increment, log)
}

/** Removes the record from the list of final ones. Returns it if it can be read. */
function unlistFinal(log: Databases, identity: string): ResponseRecord | undefined {
  const bytes = log.records.get(identity)
  const record = bytes && undefinedIfCorrupt(() => decodeRecord(bytes, identity))
  if (record) log.finished.removeSync(finishedKey(record))
  return record
}

function freePaymentId({ paymentIds }: Databases, record: ResponseRecord | undefined): void {
  if (record?.payment_id === undefined) return
  const holder = paymentIds.get(record.payment_id)?.toString()
  if (holder === JSON.stringify(record.identity)) paymentIds.removeSync(record.payment_id)
}

function copySmall(from: Databases, to: Databases): void {
  to.values.transactionSync(() => {
    for (const key of SMALL_VALUES) replace(to.values, key, from.values.get(key))
    for (const name of ['unfinished', 'unrecorded'] as const) {
      for (const key of Array.from(to[name].getKeys())) to[name].removeSync(key)
      for (const { key, value } of from[name].getRange()) to[name].putSync(key, value)
    }
  })
}

function replace<T>(database: Database<T, string>, key: string, value: T | undefined): void {
  if (value === undefined) database.removeSync(key)
  else database.putSync(key, value)
}

function inTransactions(
  { values }: Databases,
  identities: readonly string[],
  write: (identity: string) => void,
  before: () => void = () => undefined,
): void {
  for (let from = 0; from < identities.length; from += RECORDS_PER_TRANSACTION) {
    before()
    const some = identities.slice(from, from + RECORDS_PER_TRANSACTION)
    values.transactionSync(() => some.forEach(write))
  }
}

type Databases = ReturnType<typeof openDatabases>

export interface RecordCounts {
  records: number
  /** Records that do not match their checksum. The service refuses their payments, and the other records work. */
  damaged: number
}

/** Reads every record of a log in a folder that no other process uses. */
export async function inspectLog(folder: string): Promise<RecordCounts & { state: LogState | undefined }> {
  const environment = openEnvironment({ folder, kind: 'responses', readOnly: true })
  try {
    const counts = { records: 0, damaged: 0, state: readState(openDatabases(environment)) }
    for (const { key, value } of recordsIn(environment)) {
      const record = undefinedIfCorrupt(() => decodeRecord(value))
      if (record?.identity === key) counts.records += 1
      else counts.damaged += 1
    }
    return counts
  } catch (cause) {
    throw new StoreError(`${folder}: the response log cannot be read`, { cause })
  } finally {
    await environment.close()
    await rm(join(folder, 'lock.mdb'), { force: true })
  }
}

/** A database that a log does not have yet is undefined if the log is only read. */
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
  }
}

function openRemoved({ values }: Databases): Database<Buffer, string> {
  return values.openDB({ name: REMOVED_DATABASE, encoding: 'binary' })
}
