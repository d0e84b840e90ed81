/** The actions of the commands `history build` and `verify`. A service may run on the same data directory. */
import { storedEntries } from '../dataset/snapshot.ts'
import { CRO_COMPANIES, SYNTHETIC } from '../dataset/source.ts'
import { UNFINISHED_SUFFIX } from '../files/atomic-file.ts'
import { companyKey, snapshotFolder } from '../files/layout.ts'
import { StoreError } from '../files/environment.ts'
import { historyDigest, historyLines } from '../history/digest.ts'
import { HistoryDatabase } from '../history/history-database.ts'
import { recordFile } from '../history/record.ts'
import { sha256OfFile } from './archive.ts'
import type { ImportProgress } from './build.ts'
import { openBuildProcesses } from './build-process.ts'
import { readArchiveFacts } from './kept-archive.ts'
import { openTemporaryFolder } from './old-folders.ts'

interface ArchivesOptions {
  dataDirectory: string
  /** Paths, each perhaps with `=` and the time of the file. */
  archives: readonly string[]
  /** Whether records are made up, for archives that do not state it. */
  synthetic: boolean
  now: () => Date
  print: (line: string) => void
  onProgress: (progress: ImportProgress) => void
}

/** Adds archives to the journal, in any order. */
export async function buildHistory(options: ArchivesOptions): Promise<void> {
  await using history = new HistoryDatabase(options.dataDirectory, { readOnly: false })
  await recordArchives(history, options)
  options.print(`digest  ${historyDigest(history)}`)
}

/**
 * Compares the journal with one that is built from archives and has the same erased numbers.
 * @returns whether they are equal
 */
export async function verifyHistory(options: ArchivesOptions): Promise<boolean> {
  const { dataDirectory, print } = options
  await using directory = await openTemporaryFolder('history-')
  await using history = new HistoryDatabase(dataDirectory, { readOnly: true })
  await using built = new HistoryDatabase(directory.path, { readOnly: false })
  for (const { number, time } of history.erasures()) built.putErasure(companyKey(number), time)
  await recordArchives(built, options)
  const difference = firstDifference(historyLines(history), historyLines(built))
  if (!difference) print(`equal   ${historyDigest(history)}`)
  else {
    const { date, companyNumber } = difference
    print(`differs ${date}${companyNumber === undefined ? '' : `, company ${companyNumber}`}`)
  }
  return difference === undefined
}

async function recordArchives(history: HistoryDatabase, options: ArchivesOptions): Promise<void> {
  const { archives, now, onProgress, print } = options
  for (const archive of archives) {
    // A shell's `folder/*` also names the facts, and what a kill has left.
    if (archive.endsWith(UNFINISHED_SUFFIX) || archives.some((other) => archive === `${other}.json`)) continue
    const { path, facts } = await readArchiveFacts(archive)
    const { retrieved_at, source_updated_at } = facts
    const publication = (facts.synthetic ?? options.synthetic) ? SYNTHETIC : CRO_COMPANIES
    const source = { ...publication, retrieved_at, source_updated_at }
    const archive_sha256 = await sha256OfFile(path)
    if (facts.archive_sha256 !== undefined && facts.archive_sha256 !== archive_sha256)
      throw new StoreError(`${path}: is not the archive of which ${path}.json has the SHA-256`)
    await using folder = await openTemporaryFolder('history-')
    const request = { dataDirectory: folder.path, path, importedAt: now().toISOString() }
    const { snapshot_id } = await openBuildProcesses().build(request, { onProgress })
    const step = { snapshot_id, location: facts.location, archive_sha256, source }
    const isNew = recordFile(history, step, storedEntries(snapshotFolder(folder.path, snapshot_id)))
    print(`${isNew ? 'recorded' : 'known   '} ${source_updated_at ?? retrieved_at} ${path}`)
  }
}

/** The line at which two journals begin to differ. */
function firstDifference<Line extends { text: string }>(
  one: Iterator<Line, void>,
  other: Iterator<Line, void>,
): Line | undefined {
  for (;;) {
    const [left, right] = [one.next(), other.next()]
    if (left.done && right.done) return undefined
    const line = left.done ? right.value : left.value
    if (left.done || right.done || left.value.text !== right.value.text) return line ?? undefined
  }
}
