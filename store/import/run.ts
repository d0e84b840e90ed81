/** Imports an archive: fetch, unzip, read, normalise, build, publish. The last step alone changes what is served. */
import type { Catalog, Retrieval } from '../catalog.ts'
import { hasNameIndex } from '../index/name-index.ts'
import { snapshotFolder } from '../layout.ts'
import { StoreError } from '../open.ts'
import type { SnapshotInfo } from '../snapshot.ts'
import { NORMALISATION_VERSION } from '../snapshot-id.ts'
import { rowsMinOf, type Publication } from '../source.ts'
import { sha256OfFile } from './archive.ts'
import {
  buildFile,
  newBuildingFolder,
  removeAbandonedBuilds,
  type BuildFile,
  type Processes,
  type Progress,
} from './build.ts'
import { withDownload, type Download, type DownloadRequest } from './download.ts'
import { ImportError } from './errors.ts'
import { isUrl } from './location.ts'
import { pruneSnapshots } from './prune.ts'

export interface ImportRequest {
  dataDirectory: string
  catalog: Catalog
  /** A `.csv` or `.zip` file on disk, or the URL of one or of a CKAN resource. */
  path: string
  /** What the retrieval is known by, to tell a repeated one; the path unless something else was retrieved. */
  location?: string
  publication: Publication
  processes: Processes
  now: () => Date
  onProgress?: (progress: Progress) => void
  /** Where the building is done: in this thread, unless a service has others for it. */
  build?: BuildFile
  /** The least number of rows; what the location demands unless a test says less. */
  rowsMin?: number
  limits?: DownloadRequest['limits']
  /** Gives the import up before it publishes anything. */
  signal?: AbortSignal
}

export interface ImportResult {
  info: SnapshotInfo
  /** False when the archive is byte for byte the one that is already served; only its retrieval is noted then. */
  changed: boolean
}

/** What is served already. */
interface Served {
  retrieval: Retrieval
  info: SnapshotInfo
  /** Whether it was read by today's rules, so that the same archive need not be read again. */
  isToday: boolean
}

export async function importDataset(request: ImportRequest): Promise<ImportResult> {
  const { dataDirectory, catalog, path, processes, now, limits, signal } = request
  const retrievedAt = now()
  await removeAbandonedBuilds(dataDirectory, processes, retrievedAt)
  checkWanted(signal)
  const served = await servedNow(dataDirectory, catalog)
  const take = (archive: Download) => publishArchive(request, { archive, served, retrievedAt })
  if (!isUrl(path)) return take({ path, validators: null, updatedAt: undefined })
  const folder = newBuildingFolder(dataDirectory, processes)
  const validators = served?.isToday ? served.retrieval.validators : null
  return withDownload({ location: path, folder, validators, limits, signal }, take)
}

interface Taken {
  archive: Download
  served: Served | undefined
  retrievedAt: Date
}

async function publishArchive(request: ImportRequest, taken: Taken): Promise<ImportResult> {
  const { catalog, path, location = path, publication, signal } = request
  const { info, archive_sha256, changed } = await contentOf(request, taken)
  checkWanted(signal)
  await catalog.publish({
    snapshot_id: info.snapshot_id,
    source: {
      ...publication,
      retrieved_at: taken.retrievedAt.toISOString(),
      source_updated_at: updatedAt(taken, changed ? undefined : location),
    },
    location,
    archive_sha256,
    validators: taken.archive.validators,
  })
  const before = taken.served?.info.snapshot_id
  // The same snapshot again says nothing of which was the previous one.
  if (before !== info.snapshot_id)
    await prune(request, before === undefined ? [info.snapshot_id] : [info.snapshot_id, before])
  return { info, changed }
}

/** The import has succeeded by now: what can't be removed is left to the next one. */
async function prune({ dataDirectory, catalog, now }: ImportRequest, keep: string[]): Promise<void> {
  await pruneSnapshots({ dataDirectory, catalog, keep, now: now() }).catch(() => undefined)
}

/** The archive as a snapshot: the one that is served when the bytes are the same, else a new one. */
async function contentOf(
  request: ImportRequest,
  { archive, served }: Taken,
): Promise<ImportResult & Pick<Retrieval, 'archive_sha256'>> {
  if (archive.path === undefined) {
    if (!served) throw new Error('A server was asked what has changed since nothing')
    return { info: served.info, archive_sha256: served.retrieval.archive_sha256, changed: false }
  }
  const archive_sha256 = await sha256OfFile(archive.path)
  if (served?.isToday && served.retrieval.archive_sha256 === archive_sha256) {
    return { info: served.info, archive_sha256, changed: false }
  }
  const { dataDirectory, path, location = path, processes, now, signal } = request
  const { onProgress = () => undefined, rowsMin = rowsMinOf(location), build = buildFile } = request
  const rowsBefore = served?.retrieval.location === location ? served.info.row_count : 0
  const expected = { rowsMin, rowsBefore }
  const info = await build({ dataDirectory, path: archive.path, processes, now, onProgress, expected, signal })
  return { info, archive_sha256, changed: true }
}

/** When the source was updated: what it says itself, unless that is yet to come; the same bytes keep what was known. */
function updatedAt({ archive, served, retrievedAt }: Taken, sameLocation: string | undefined): string | null {
  if (archive.updatedAt && archive.updatedAt <= retrievedAt) return archive.updatedAt.toISOString()
  if (sameLocation === undefined || served?.retrieval.location !== sameLocation) return null
  return served.retrieval.source.source_updated_at
}

async function servedNow(dataDirectory: string, catalog: Catalog): Promise<Served | undefined> {
  try {
    const retrieval = catalog.retrieval()
    const info = await catalog.info()
    if (!retrieval || !info || !(await hasNameIndex(snapshotFolder(dataDirectory, info.snapshot_id)))) return undefined
    return { retrieval, info, isToday: info.normalisation === NORMALISATION_VERSION }
  } catch (cause) {
    // A snapshot that was lost or damaged is built again from the archive it came from.
    if (cause instanceof StoreError) return undefined
    throw cause
  }
}

function checkWanted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new ImportError('stopped', 'the import was stopped')
}
