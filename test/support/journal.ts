/** Journals for tests, written with the code of an import. */
import { rm } from 'node:fs/promises'
import { companyKey, companyNumberOf, historyFolder, snapshotFolder } from '../../store/files/layout.ts'
import { StoreError } from '../../store/files/environment.ts'
import { Catalog } from '../../store/dataset/catalog.ts'
import { encodeEntry } from '../../store/dataset/company-entry.ts'
import type { SnapshotEntry } from '../../store/dataset/company.ts'
import { storedEntries } from '../../store/dataset/snapshot.ts'
import { SYNTHETIC } from '../../store/dataset/source.ts'
import { decodeVersion, HistoryDatabase } from '../../store/history/history-database.ts'
import { addFile } from '../../store/history/write-journal.ts'
import { buildFile } from '../../store/import/build.ts'
import { sha256Hex } from '../../base/canonical.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'

export function noJournal(): never {
  throw new StoreError('There is no journal')
}

/**
 * What a journal says, in order: the snapshot ids of its files, each only where it changes, and the versions that begin
 * at each.
 */
export function contentsOf(history: HistoryDatabase): [date: string, what: string, entry?: unknown][] {
  const contents: [string, string, unknown?][] = []
  let previous: string | undefined
  for (const step of history.stepKeys()) {
    const { date, snapshot_id } = history.findStep(step)!
    if (snapshot_id === previous) continue
    previous = snapshot_id
    contents.push([date, snapshot_id])
    for (const { key, entry } of history.versionsFrom({ start: step, end: `${step}~` }))
      contents.push([date, companyNumberOf(key), decodeVersion(key, entry)])
  }
  return contents
}

/** A file of the register: its time, and its entries by number. */
export interface PastFile {
  updated: string
  entries: Readonly<Record<string, SnapshotEntry>>
}

export function snapshotIdOf({ entries }: PastFile): string {
  return `sha256:${sha256Hex(JSON.stringify(entries))}`
}

export async function recordFiles(dataDirectory: string, files: readonly PastFile[]): Promise<void> {
  await using history = new HistoryDatabase(dataDirectory, { readOnly: false })
  for (const file of files) {
    const time = new Date(file.updated).toISOString()
    const source = { ...SYNTHETIC, retrieved_at: time, source_updated_at: time }
    const entries = Object.entries(file.entries)
      .map(([number, entry]) => ({ key: companyKey(number), value: encodeEntry(entry) }))
      .toSorted((one, other) => (one.key < other.key ? -1 : 1))
    addFile(history, { ...FACTS, snapshot_id: snapshotIdOf(file), source }, entries)
  }
}

/** Replaces the journal by one of an archive of an earlier time and of the file that is served. */
export async function recordArchive(dataDirectory: string, path: string, time: string): Promise<void> {
  const directory = await makeTemporaryDirectory()
  const { snapshot_id } = await buildFile({ dataDirectory: directory, path, importedAt: new Date().toISOString() })
  await rm(historyFolder(dataDirectory), { recursive: true, force: true })
  await using history = new HistoryDatabase(dataDirectory, { readOnly: false })
  const facts = { ...FACTS, snapshot_id, source: { ...SYNTHETIC, retrieved_at: time, source_updated_at: null } }
  addFile(history, facts, storedEntries(snapshotFolder(directory, snapshot_id)))
  await using catalog = new Catalog(dataDirectory)
  const served = catalog.retrieval()
  if (served) addFile(history, served, storedEntries(snapshotFolder(dataDirectory, served.snapshot_id)))
}

const FACTS = { location: 'test', archive_sha256: 'a'.repeat(64) }
