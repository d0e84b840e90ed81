/** The action of the command `history build`. A service may run on the same data directory. */
import { resolve } from 'node:path'
import * as z from 'zod'
import { storedEntries } from '../dataset/snapshot.ts'
import { CRO_COMPANIES, SYNTHETIC } from '../dataset/source.ts'
import { snapshotFolder } from '../files/layout.ts'
import { StoreError } from '../files/environment.ts'
import { HistoryDatabase } from '../history/history-database.ts'
import { addFile } from '../history/write-journal.ts'
import { sha256OfFile } from './archive.ts'
import { buildFile, type ImportProgress } from './build.ts'
import { openTemporaryFolder } from './old-folders.ts'

interface ArchivesOptions {
  dataDirectory: string
  /** Each a path, `=` and the time of the file. The oldest file is first. */
  archives: readonly string[]
  /** Whether the records are made up. */
  synthetic: boolean
  now: () => Date
  print: (line: string) => void
  onProgress: (progress: ImportProgress) => void
}

/** Adds archives to the journal. The first one that is older than a file in it is refused. */
export async function buildHistory(options: ArchivesOptions): Promise<void> {
  const { archives, dataDirectory, synthetic, now, onProgress, print } = options
  const files = archives.map(parseArchive)
  await using history = new HistoryDatabase(dataDirectory, { readOnly: false })
  for (const { path, location, time } of files) {
    const source = { ...(synthetic ? SYNTHETIC : CRO_COMPANIES), retrieved_at: time, source_updated_at: time }
    await using folder = await openTemporaryFolder('history-')
    const request = { dataDirectory: folder.path, path, importedAt: now().toISOString() }
    const { snapshot_id } = await buildFile(request, { onProgress })
    const facts = { snapshot_id, location, archive_sha256: await sha256OfFile(path), source }
    const isNew = addFile(history, facts, storedEntries(snapshotFolder(folder.path, snapshot_id)))
    print(`${isNew ? 'recorded' : 'known   '} ${time} ${path}`)
  }
}

/** @throws StoreError if it has no time */
function parseArchive(archive: string): { path: string; location: string; time: string } {
  const [, location, text] = /^(.+)=([^=/]+)$/.exec(archive) ?? []
  const time = z.union([z.iso.date(), z.iso.datetime()]).safeParse(text)
  if (location === undefined || !time.success)
    throw new StoreError(`${archive}: write FILE=YYYY-MM-DD, or FILE=2026-01-02T03:04:05Z with the time`)
  return { path: resolve(location), location, time: new Date(time.data).toISOString() }
}
