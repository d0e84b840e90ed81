/** Imports an archive: unzip, read, normalise, build, publish. The last step alone changes what is served. */
import type { Catalog, Retrieval } from '../catalog.ts'
import { StoreError } from '../open.ts'
import type { SnapshotInfo } from '../snapshot.ts'
import { NORMALISATION_VERSION } from '../snapshot-id.ts'
import type { Publication } from '../source.ts'
import { sha256OfFile } from './archive.ts'
import { pruneSnapshots } from './prune.ts'
import { buildFile, removeAbandonedBuilds, type BuildFile, type Processes, type Progress } from './build.ts'

export interface ImportRequest {
  dataDirectory: string
  catalog: Catalog
  /** A `.csv` or `.zip` file on disk. */
  path: string
  /** What the retrieval is known by, to tell a repeated one; the path unless something else was retrieved. */
  location?: string
  publication: Publication
  processes: Processes
  now: () => Date
  onProgress?: (progress: Progress) => void
  /** Where the building is done: in this thread, unless a service has others for it. */
  build?: BuildFile
}

export interface ImportResult {
  info: SnapshotInfo
  /** False when the archive is byte for byte the one that is already served; only its retrieval is noted then. */
  changed: boolean
}

export async function importDataset(request: ImportRequest): Promise<ImportResult> {
  const { dataDirectory, catalog, path, publication, processes, now, onProgress = () => undefined } = request
  await removeAbandonedBuilds(dataDirectory, processes)
  const retrievedAt = now().toISOString()
  const archive_sha256 = await sha256OfFile(path)
  const unchanged = alreadyServed(catalog, archive_sha256)
  const info = unchanged ?? (await (request.build ?? buildFile)({ dataDirectory, path, processes, now, onProgress }))
  const retrieval: Retrieval = {
    snapshot_id: info.snapshot_id,
    source: { ...publication, retrieved_at: retrievedAt, source_updated_at: null },
    location: request.location ?? path,
    archive_sha256,
  }
  const before = catalog.retrieval()?.snapshot_id ?? info.snapshot_id
  await catalog.publish(retrieval)
  // The same snapshot again says nothing of which was the previous one.
  if (before !== info.snapshot_id)
    await pruneSnapshots({ dataDirectory, catalog, keep: [info.snapshot_id, before], now: now() })
  return { info, changed: unchanged === undefined }
}

function alreadyServed(catalog: Catalog, archive_sha256: string): SnapshotInfo | undefined {
  if (catalog.retrieval()?.archive_sha256 !== archive_sha256) return undefined
  try {
    const info = catalog.current()?.snapshot.info
    return info?.normalisation === NORMALISATION_VERSION ? info : undefined
  } catch (cause) {
    // A snapshot that was lost or damaged is built again from the archive it came from.
    if (cause instanceof StoreError) return undefined
    throw cause
  }
}
