/** Imports an archive: fetches it, builds a snapshot, publishes it. The service uses it after the publication, one durable write. */
import type { Catalog, Retrieval } from '../catalog.ts'
import { hasNameIndex } from '../index/name-index.ts'
import { snapshotFolder } from '../layout.ts'
import { StoreError } from '../environment.ts'
import type { SnapshotInfo } from '../snapshot.ts'
import { NORMALISATION_VERSION } from '../snapshot-id.ts'
import { minRowCount, type Publication } from '../source.ts'
import { isUrl } from '../url-policy.ts'
import { sha256OfFile } from './archive.ts'
import { buildFile, type BuildFile, type ImportProgress } from './build.ts'
import { newBuildingFolder, removeAbandonedBuilds, type Processes } from './building-folder.ts'
import { withDownload, type Download, type DownloadRequest } from './download.ts'
import { throwIfStopped } from './errors.ts'
import { pruneSnapshots } from './prune.ts'

export interface ImportRequest {
  dataDirectory: string
  catalog: Catalog
  /** A `.csv` or `.zip` file on disk, or the URL of an archive or of a CKAN resource. */
  path: string
  /** The name under which the retrieval is recorded. The default is the path. */
  location?: string
  publication: Publication
  processes: Processes
  now: () => Date
  onProgress?: (progress: ImportProgress) => void
  /** Builds the snapshot. The default builds in this thread. */
  build?: BuildFile
  /** The least number of rows. The default is that of the location. */
  rowsMin?: number
  limits?: DownloadRequest['limits']
  /** Stops the import before it publishes. */
  signal?: AbortSignal
}

export interface ImportResult {
  info: SnapshotInfo
  /** False if the archive is the one of the current snapshot. Only the time of retrieval is then recorded. */
  changed: boolean
}

interface CurrentSnapshot {
  retrieval: Retrieval
  info: SnapshotInfo
  /** Whether it was normalised by the current rules. If not, an unchanged archive is imported again. */
  hasCurrentRules: boolean
}

export async function importDataset(request: ImportRequest): Promise<ImportResult> {
  const { dataDirectory, catalog, path, processes, now, limits, signal } = request
  const retrievedAt = now()
  await removeAbandonedBuilds(dataDirectory, processes, retrievedAt)
  throwIfStopped(signal)
  const current = await readCurrentSnapshot(dataDirectory, catalog)
  const publish = (download: Download) => publishArchive(request, { download, current, retrievedAt })
  if (!isUrl(path)) return publish({ path, validators: null, updatedAt: undefined })
  const folder = newBuildingFolder(dataDirectory, processes)
  const validators = current?.hasCurrentRules ? current.retrieval.validators : null
  return withDownload({ location: path, folder, validators, limits, signal }, publish)
}

interface FetchedArchive {
  download: Download
  current: CurrentSnapshot | undefined
  retrievedAt: Date
}

async function publishArchive(request: ImportRequest, archive: FetchedArchive): Promise<ImportResult> {
  const { catalog, path, location = path, publication, signal } = request
  const { info, archive_sha256, changed } = await buildOrReuse(request, archive)
  throwIfStopped(signal)
  await catalog.publish({
    snapshot_id: info.snapshot_id,
    source: {
      ...publication,
      retrieved_at: archive.retrievedAt.toISOString(),
      source_updated_at: sourceUpdatedAt(archive, changed ? undefined : location),
    },
    location,
    archive_sha256,
    validators: archive.download.validators,
  })
  const previous = archive.current?.info.snapshot_id
  // If the snapshot is unchanged, the previous one is unknown and nothing is pruned.
  if (previous !== info.snapshot_id) {
    await prune(request, previous === undefined ? [info.snapshot_id] : [info.snapshot_id, previous])
  }
  return { info, changed }
}

/** Ignores failures: the import has succeeded, and the next one prunes again. */
async function prune({ dataDirectory, catalog, now }: ImportRequest, keep: string[]): Promise<void> {
  await pruneSnapshots({ dataDirectory, catalog, keep, now: now() }).catch(() => undefined)
}

/** Returns the current snapshot if the archive has the same bytes. Otherwise builds a new one. */
async function buildOrReuse(
  request: ImportRequest,
  { download, current }: FetchedArchive,
): Promise<ImportResult & Pick<Retrieval, 'archive_sha256'>> {
  if (download.path === undefined) {
    if (!current) throw new Error('a conditional request was sent without a current snapshot')
    return { info: current.info, archive_sha256: current.retrieval.archive_sha256, changed: false }
  }
  const archive_sha256 = await sha256OfFile(download.path)
  if (current?.hasCurrentRules && current.retrieval.archive_sha256 === archive_sha256) {
    return { info: current.info, archive_sha256, changed: false }
  }
  const { dataDirectory, path, location = path, processes, now, signal } = request
  const { onProgress = () => undefined, rowsMin = minRowCount(location), build = buildFile } = request
  const rowsBefore = current?.retrieval.location === location ? current.info.row_count : 0
  const expected = { rowsMin, rowsBefore }
  const info = await build({ dataDirectory, path: download.path, processes, now, onProgress, expected, signal })
  return { info, archive_sha256, changed: true }
}

/**
 * Returns the time that the source states, unless it lies in the future. Otherwise, if the archive is unchanged,
 * `sameLocation` is its location, and the time that was recorded for that location is kept.
 */
function sourceUpdatedAt(
  { download, current, retrievedAt }: FetchedArchive,
  sameLocation: string | undefined,
): string | null {
  if (download.updatedAt && download.updatedAt <= retrievedAt) return download.updatedAt.toISOString()
  if (sameLocation === undefined || current?.retrieval.location !== sameLocation) return null
  return current.retrieval.source.source_updated_at
}

/** Returns undefined if the snapshot is missing or damaged. It is then built again from its archive. */
async function readCurrentSnapshot(dataDirectory: string, catalog: Catalog): Promise<CurrentSnapshot | undefined> {
  try {
    const retrieval = catalog.retrieval()
    const info = await catalog.info()
    if (!retrieval || !info || !(await hasNameIndex(snapshotFolder(dataDirectory, info.snapshot_id)))) return undefined
    return { retrieval, info, hasCurrentRules: info.normalisation === NORMALISATION_VERSION }
  } catch (cause) {
    if (cause instanceof StoreError) return undefined
    throw cause
  }
}
