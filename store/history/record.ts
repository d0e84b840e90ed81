/**
 * Adds a file of the register to the journal. The journal depends on the files and the erased numbers alone, not on the
 * order in which the files were added: a file can also be added between two others.
 */
import { storedEntries } from '../dataset/snapshot.ts'
import type { Retrieval } from '../dataset/source.ts'
import { createReserveCheck, FREE_BYTES_MIN } from '../files/disk-space.ts'
import { StoreError } from '../files/environment.ts'
import { snapshotFolder } from '../files/layout.ts'
import { ABSENT_BYTES, checksumOf, ERASED_BYTES, HistoryDatabase, type StoredVersion } from './history-database.ts'
import { dateOf, stepKeyOf } from './step.ts'

/** The entries of a snapshot, encoded, in the order of their keys. */
type StoredEntries = Iterable<{ key: string; value: Buffer }>

/** Numbers that are read before their changes are written, because a write ends the reading of a range. */
const RANGE_NUMBERS = 5_000

/** Records retrievals of the register. Skips one whose records the journal already has for that day. */
export async function recordRetrievals(request: {
  dataDirectory: string
  retrievals: readonly Retrieval[]
}): Promise<void> {
  const { dataDirectory, retrievals } = request
  await using history = new HistoryDatabase(dataDirectory, { readOnly: false })
  createReserveCheck(history.folder, FREE_BYTES_MIN.import)()
  for (const facts of retrievals) {
    const entries = storedEntries(snapshotFolder(dataDirectory, facts.snapshot_id))
    if (!isOfKnownDay(history, facts)) recordFile(history, facts, entries)
  }
}

/** Whether this file, or the one before it, is of the same day and has the same records. */
function isOfKnownDay(history: HistoryDatabase, { snapshot_id, source }: Retrieval): boolean {
  const step = stepKeyOf(source)
  const before = history.stepBefore(step)
  const steps = before !== undefined && dateOf(before) === dateOf(step) ? [step, before] : [step]
  return steps.some((each) => history.findStep(each)?.snapshot_id === snapshot_id)
}

/** Numbers of the first file that one transaction writes. */
const FIRST_FILE_NUMBERS = 20_000

/**
 * One transaction, unless the journal is empty.
 * @returns false if the journal has the file already
 * @throws StoreError if another file has the same times, or another process writes the first file
 */
export function recordFile(history: HistoryDatabase, facts: Retrieval, entries: StoredEntries): boolean {
  if (history.stepAfter() === undefined) {
    recordFirstFile(history, facts, entries)
    return true
  }
  return history.write(() => {
    const step = stepKeyOf(facts.source)
    const same = history.findStep(step)
    if (same?.snapshot_id === facts.snapshot_id) return false
    if (same) throw new StoreError('The journal has another file of the same time')
    const before = history.stepBefore(step)
    const hasSameRecords = before !== undefined && history.findStep(before)?.snapshot_id === facts.snapshot_id
    if (!hasSameRecords) insertVersions(history, step, entries)
    history.putStep(step, facts)
    return true
  })
}

/**
 * Many transactions, because one keeps all that it writes in memory. Versions without a step are those of an
 * interrupted one: nothing reads them, and the next one begins again.
 */
function recordFirstFile(history: HistoryDatabase, facts: Retrieval, entries: StoredEntries): void {
  const step = stepKeyOf(facts.source)
  let last: string | undefined
  const write = (change: () => void) =>
    history.write(() => {
      if (history.stepAfter() !== undefined || (last !== undefined && history.latestOf(last) !== step))
        throw new StoreError('Another process writes the journal')
      change()
    })
  write(() => history.clearVersions())
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

function insertVersions(history: HistoryDatabase, step: string, entries: StoredEntries): void {
  const place = { step, next: history.stepAfter(step) }
  for (const { key, entry, latest } of joined(history, entries)) {
    // Most numbers have not changed since the newest version, which needs no read of it.
    const isSame = latest !== undefined && latest.step <= step && latest.checksum.equals(checksumOf(entry))
    if (!isSame) insertVersion(history, place, { key, entry })
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

/** Stores what a file says about a number, and what the next file says if that differs now. */
function insertVersion(
  history: HistoryDatabase,
  /** `next` is undefined for the newest file. */
  { step, next }: { step: string; next: string | undefined },
  { key, entry }: { key: string; entry: Buffer },
): void {
  const { before, after, afterNext } = findNeighbours(history, key, step)
  const entryBefore = before?.entry ?? ABSENT_BYTES
  if (entryBefore.equals(entry)) return
  history.putVersion(key, { step, before: before?.step, entry })
  if (next !== undefined && after?.step === next) {
    if (after.entry.equals(entry)) {
      history.removeVersion(key, next)
      link(history, key, { step, entry }, afterNext)
    } else link(history, key, { step, entry }, after)
  } else if (next !== undefined) {
    // The next file has the entry of the file before again, so it begins a version of its own.
    const restored = { step: next, before: step, entry: entryBefore }
    history.putVersion(key, restored)
    link(history, key, restored, after)
  } else link(history, key, { step, entry }, undefined)
  if (history.isErased(key)) eraseVersions(history, key)
}

/** The last version before a step, the first one after it, and the one after that. */
function findNeighbours(history: HistoryDatabase, key: string, step: string) {
  let after: StoredVersion | undefined
  let afterNext: StoredVersion | undefined
  for (const version of history.chain(key)) {
    if (version.step < step) return { before: version, after, afterNext }
    afterNext = after
    after = version
  }
  return { before: undefined, after, afterNext }
}

/** Makes a version the one before `after`, or the newest one. */
function link(
  history: HistoryDatabase,
  key: string,
  version: Pick<StoredVersion, 'step' | 'entry'>,
  after: StoredVersion | undefined,
): void {
  if (after) history.putVersion(key, { ...after, before: version.step })
  else history.setLatest(key, version)
}

/**
 * Erases the past of a number: all versions but the newest become one without content. Every later file keeps it
 * erased.
 * @returns false if no file has had the number
 */
export function eraseNumber(history: HistoryDatabase, key: string, time: string): boolean {
  return history.write(() => {
    if (history.latestOf(key) === undefined) return false
    history.putErasure(key, time)
    eraseVersions(history, key)
    return true
  })
}

function eraseVersions(history: HistoryDatabase, key: string): void {
  const [newest, ...past] = history.chain(key)
  const oldest = past.at(-1)
  if (!newest || !oldest) return
  for (const { step } of past) history.removeVersion(key, step)
  history.putVersion(key, { step: oldest.step, before: undefined, entry: ERASED_BYTES })
  history.putVersion(key, { ...newest, before: oldest.step })
}
