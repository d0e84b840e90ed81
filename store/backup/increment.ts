/**
 * The changes of a response log since an earlier backup. The increment is an environment of the same layout with
 * the records that are not final, the final ones that have changed since, their payment ids, the small values, and the
 * identities of the removed ones. The list of unfinished records is complete; that of final ones is not in it.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { asBinary, type RootDatabase } from 'lmdb'
import { undefinedIfCorrupt } from '../files/checksum.ts'
import { openEnvironment, StoreError } from '../files/environment.ts'
import { EPOCH_KEY, finishedKey, OWNER_KEY, PUBLIC_KEYS_KEY, recordKeyIn, SALES_KEY } from '../files/layout.ts'
import { countFormerRecords, isFormerLayout } from '../log/former-layout.ts'
import {
  changeKey,
  copyRecord,
  digestIn,
  newestChange,
  openRanges,
  readKey,
  readRecord,
  removeFromIndexes,
  removeRecord,
  type KeyRange,
  type LogRanges,
} from '../log/ranges.ts'
import { isFinal } from '../log/record.ts'
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
    const log = openRanges(source)
    const state = readState(log)
    const keys = state && before && findChanged(log, state, before)
    if (!keys) return undefined
    target = openEnvironment({ folder: to, kind: 'responses' })
    copyChanged(log, openRanges(target), keys, check)
    return state
  } finally {
    await Promise.all([source.close(), target?.close()])
  }
}

/** What a later increment is compared with. Undefined if no process of this version has written to the log. */
function readState({ environment, changes }: LogRanges): LogState | undefined {
  const epoch = environment.get(EPOCH_KEY) as string | undefined
  if (epoch === undefined) return undefined
  const change = newestChange(changes)
  return { epoch, change, changed_at: timeOf(changes, change) }
}

const timeOf = (changes: LogRanges['changes'], number: number) => changes.get(changeKey(number))?.at ?? null

function findChanged({ unfinished, changes }: LogRanges, state: LogState, before: LogState): string[] | undefined {
  const isSameLog = state.epoch === before.epoch && timeOf(changes, before.change) === before.changed_at
  const numbers = [...changes.keys({ start: changeKey(before.change + 1) })]
  const changed = numbers.flatMap((key) => changes.get(key) ?? [])
  // Numbers in the middle are missing if changes expired that were noted while the clock was wrong.
  if (!isSameLog || changed.length !== state.change - before.change) return undefined
  const keys = new Set(changed.map(({ key }) => key))
  for (const key of unfinished.keys()) keys.add(recordKeyIn(key))
  return [...keys]
}

function copyChanged(log: LogRanges, target: LogRanges, keys: readonly string[], check: () => void): void {
  const copy = (key: string) => {
    if (!copyRecord(log, target, key)) target.removed.put(key, true)
  }
  inTransactions(target, keys, copy, check)
  // Found by their records and not by the ids in them, because a damaged record keeps its payment id.
  const holders = new Set<string | undefined>(keys)
  const isHeld = (id: string) => holders.has(undefinedIfCorrupt(() => readKey(log.paymentIds, id)))
  const held = [...log.paymentIds.keys()].filter(isHeld)
  inTransactions(target, held, (id) => target.paymentIds.put(id, String(log.paymentIds.get(id))), check)
  copySmall(log, target)
}

/** Brings a copy of the log to the state of an increment. A kill leaves a copy that cannot be used. */
export function applyIncrement(logEnvironment: Environment, incrementEnvironment: Environment): void {
  const [log, increment] = [openRanges(logEnvironment), openRanges(incrementEnvironment)]
  inTransactions(log, [...increment.removed.keys(), ...increment.records.keys()], (key) => {
    // Layout 2 did not state the time of a removed or a damaged record, which is in its key.
    const formerKey = undefinedIfCorrupt(() => readKey(log.identities, digestIn(key))) ?? key
    const former = undefinedIfCorrupt(() => readRecord(log, formerKey))
    if (former) removeFromIndexes(former, formerKey, log)
    removeRecord(log, formerKey)
    if (!copyRecord(increment, log, key)) return
    const record = undefinedIfCorrupt(() => readRecord(increment, key))
    if (record && isFinal(record.state)) log.finished.put(finishedKey(record, key), true)
  })
  const held = [...increment.paymentIds.keys()]
  inTransactions(log, held, (id) => log.paymentIds.put(id, String(increment.paymentIds.get(id))))
  copySmall(increment, log)
}

/** No value is ever removed from a log. */
function copySmall(from: LogRanges, to: LogRanges): void {
  for (const key of SMALL_VALUES)
    if (from.environment.doesExist(key)) to.environment.putSync(key, from.environment.get(key))
  copyList(to, from.unfinished, to.unfinished)
  copyList(to, from.unrecorded, to.unrecorded)
  copyList(to, from.notes, to.notes)
}

/** Replaces a list, as bytes, because a value may be damaged. */
function copyList(target: LogRanges, from: KeyRange<unknown>, to: KeyRange<unknown>): void {
  inTransactions(target, [...to.keys()], (key) => to.remove(key))
  inTransactions(target, [...from.keys()], (key) => to.put(key, asBinary(from.getBinary(key) ?? Buffer.alloc(0))))
}

function inTransactions<T>(
  { environment }: LogRanges,
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

/**
 * Reads every record of a log in a folder that no other process uses. `damaged` ones do not match their checksum: the
 * service refuses their payments, and the other records work.
 */
export async function inspectLog(folder: string) {
  const environment = openEnvironment({ folder, kind: 'responses', readOnly: true, upgrade: () => undefined })
  try {
    if (isFormerLayout(environment)) return { counts: countFormerRecords(environment), state: undefined }
    const ranges = openRanges(environment)
    const counts = { records: 0, damaged: 0 }
    for (const key of ranges.records.keys())
      counts[undefinedIfCorrupt(() => readRecord(ranges, key)) ? 'records' : 'damaged'] += 1
    return { counts, state: readState(ranges) }
  } catch (cause) {
    throw new StoreError(`${folder}: the response log cannot be read`, { cause })
  } finally {
    await environment.close()
    await rm(join(folder, 'lock.mdb'), { force: true })
  }
}
