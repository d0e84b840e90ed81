/** The action of the command `history build`. A service may run on the same data directory. */
import { storedEntries } from '../dataset/snapshot.ts'
import { CRO_COMPANIES, SYNTHETIC } from '../dataset/source.ts'
import { UNFINISHED_SUFFIX } from '../files/atomic-file.ts'
import { snapshotFolder } from '../files/layout.ts'
import { StoreError } from '../files/environment.ts'
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
  const { archives, dataDirectory, now, onProgress, print } = options
  await using history = new HistoryDatabase(dataDirectory, { readOnly: false })
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
