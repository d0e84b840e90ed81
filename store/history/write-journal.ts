/**
 * Adds a file of the register to the journal, after all others: the journal is append-only, in the order of the times
 * of its files.
 */
import { storedEntries } from '../dataset/snapshot.ts'
import type { Retrieval } from '../dataset/source.ts'
import { storedChecksum } from '../files/checksum.ts'
import { createReserveCheck, FREE_BYTES_MIN } from '../files/disk-space.ts'
import { StoreError } from '../files/environment.ts'
import { snapshotFolder } from '../files/layout.ts'
import { addFormerName, prepareFormerNames, removeFormerName } from './former-names.ts'
import { ABSENT_BYTES, ERASED_BYTES, HistoryDatabase } from './history-database.ts'
import { dateOf, stepKeyOf } from './step.ts'

/** The entries of a snapshot, encoded, in the order of their keys. */
type StoredEntries = Iterable<{ key: string; value: Buffer }>

/** Numbers that are read before their changes are written, because a write ends the reading of a range. */
const RANGE_NUMBERS = 5_000

/** Adds a retrieval of the register, and first the served one, which an import may have failed to add. */
export async function addRetrievals(request: {
  dataDirectory: string
  served: Retrieval | undefined
  file: Retrieval
  /** Whether a file older than those of the journal is left out. Otherwise it is a failure. */
  isForced?: boolean
}): Promise<void> {
  const { dataDirectory, served, file, isForced = false } = request
  await using history = new HistoryDatabase(dataDirectory, { readOnly: false })
  createReserveCheck(history.folder, FREE_BYTES_MIN.import)()
  const add = (facts: Retrieval) => {
    if (isOfKnownDay(history, facts)) return
    addFile(history, facts, storedEntries(snapshotFolder(dataDirectory, facts.snapshot_id)))
  }
  if (served && !isOlder(history, served)) add(served)
  if (!isForced || !isOlder(history, file)) add(file)
}

/** Whether the newest file is of the same day and has the same records. */
function isOfKnownDay(history: HistoryDatabase, { snapshot_id, source }: Retrieval): boolean {
  const newest = history.stepBefore()
  if (newest === undefined || dateOf(newest) !== dateOf(stepKeyOf(source))) return false
  return history.findStep(newest)?.snapshot_id === snapshot_id
}

function isOlder(history: HistoryDatabase, { source }: Retrieval): boolean {
  return stepKeyOf(source) <= (history.stepBefore() ?? '')
}

/** Numbers of the first file that one transaction writes. */
const FIRST_FILE_NUMBERS = 20_000

/**
 * One transaction, unless the journal is empty.
 * @returns false if the journal has the file already
 * @throws StoreError if the journal has a newer file, or another process writes the first one
 */
export function addFile(history: HistoryDatabase, facts: Retrieval, entries: StoredEntries): boolean {
  if (history.stepAfter() === undefined) {
    addFirstFile(history, facts, entries)
    return true
  }
  return history.write(() => {
    const step = stepKeyOf(facts.source)
    if (history.findStep(step)?.snapshot_id === facts.snapshot_id) return false
    const newest = history.stepBefore() ?? ''
    if (step <= newest)
      throw new StoreError(`The journal has a file of ${dateOf(newest)}, and only a newer one can be added to it`)
    prepareFormerNames(history)
    if (history.findStep(newest)?.snapshot_id !== facts.snapshot_id) addVersions(history, step, entries)
    history.putStep(step, facts)
    return true
  })
}

/**
 * Many transactions, because one keeps all that it writes in memory. Versions without a step are those of an
 * interrupted one: nothing reads them, and the next one begins again.
 */
function addFirstFile(history: HistoryDatabase, facts: Retrieval, entries: StoredEntries): void {
  const step = stepKeyOf(facts.source)
  let last: string | undefined
  const write = (change: () => void) =>
    history.write(() => {
      if (history.stepAfter() !== undefined || (last !== undefined && history.latestOf(last) !== step))
        throw new StoreError('Another process writes the journal')
      change()
    })
  write(() => {
    history.clearVersions()
    prepareFormerNames(history)
  })
  let group: { key: string; value: Buffer }[] = []
  const writeGroup = () => {
    write(() => {
      for (const { key, value: entry } of group) {
        history.putVersion(key, { step, before: undefined, entry })
        history.setLatest(key, { step, entry })
      }
    })
    last = group.at(-1)?.key
    group = []
  }
  for (const entry of entries) if (group.push(entry) === FIRST_FILE_NUMBERS) writeGroup()
  if (group.length > 0) writeGroup()
  write(() => history.putStep(step, facts))
}

/** Adds a version of each number about which the file says something else than the file before. */
function addVersions(history: HistoryDatabase, step: string, entries: StoredEntries): void {
  for (const { key, entry, latest } of joined(history, entries)) {
    if (latest?.checksum.equals(storedChecksum(entry)) === true) continue
    history.putVersion(key, { step, before: latest?.step, entry })
    history.setLatest(key, { step, entry })
    if (latest) addFormerName(history, { key, former: history.findVersion(key, latest.step), next: { step, entry } })
    if (history.isErased(key)) eraseVersions(history, key)
  }
}

/**
 * Every number that the file or the journal has, in the order of their keys, with what the file and the journal say
 * last.
 */
function* joined(history: HistoryDatabase, entries: StoredEntries) {
  const known = latestVersions(history)
  const readNext = () => known.next().value ?? undefined
  let latest = readNext()
  for (const { key, value } of entries) {
    for (; latest && latest.key < key; latest = readNext()) yield { key: latest.key, entry: ABSENT_BYTES, latest }
    const isKnown = latest?.key === key
    yield { key, entry: value, latest: isKnown ? latest : undefined }
    if (isKnown) latest = readNext()
  }
  for (; latest; latest = readNext()) yield { key: latest.key, entry: ABSENT_BYTES, latest }
}

function* latestVersions(history: HistoryDatabase) {
  for (let after: string | undefined; ;) {
    const range = history.latestRange(after, RANGE_NUMBERS)
    yield* range
    after = range.at(-1)?.key
    if (range.length < RANGE_NUMBERS) return undefined
  }
}

/**
 * Erases the past of a number: all versions but the newest become one without content. Every later file keeps it
 * erased.
 * @returns false if no file has had the number
 */
export function eraseNumber(history: HistoryDatabase, key: string, time: string): boolean {
  return history.write(() => {
    if (history.latestOf(key) === undefined) return false
    prepareFormerNames(history)
    history.putErasure(key, time)
    eraseVersions(history, key)
    return true
  })
}

function eraseVersions(history: HistoryDatabase, key: string): void {
  const [newest, ...past] = history.chain(key)
  const oldest = past.at(-1)
  if (!newest || !oldest) return
  for (const { step, entry } of past) {
    removeFormerName(history, key, entry)
    history.removeVersion(key, step)
  }
  history.putVersion(key, { step: oldest.step, before: undefined, entry: ERASED_BYTES })
  history.putVersion(key, { ...newest, before: oldest.step })
}
