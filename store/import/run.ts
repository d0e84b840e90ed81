/**
 * Imports an archive: fetches it, builds a snapshot, records it in the journal and publishes it, the last two with one
 * durable write each. After a kill between them, the next import continues and records nothing twice.
 */
import type { Catalog, Dataset } from '../dataset/catalog.ts'
import { rm } from 'node:fs/promises'
import { basename } from 'node:path'
import { buildingFolder, snapshotFolder, snapshotsFolder } from '../files/layout.ts'
import { addRetrievals } from '../history/write-journal.ts'
import type { SnapshotInfo } from '../dataset/snapshot.ts'
import { NORMALISATION_VERSION } from '../dataset/company.ts'
import { minCompanyCount, type Publication, type Retrieval } from '../dataset/source.ts'
import { isUrl } from '../../base/url-policy.ts'
import { sha256OfFile } from './archive.ts'
import { buildFile, readSnapshotInfo, type BuiltSnapshot, type ImportProgress } from './build.ts'
import type { ComparedWith, Finding } from './comparison.ts'
import { downloadArchive, type Download } from './download.ts'
import { ImportError } from './errors.ts'
import { newBuildingFolder, removeUntouched } from './old-folders.ts'
import { DAY_MS } from '../../base/day.ts'

/** A smaller register can change by more than the limits of contract 11.11. */
const JUDGED_COMPANIES_MIN = 1_000

interface ImportRequest {
  dataDirectory: string
  catalog: Catalog
  /** A file on disk, or the URL of an archive or of a CKAN resource. */
  path: string
  /** The name under which the retrieval is recorded. The default is the path. */
  location?: string
  publication: Publication
  now: () => Date
  onProgress?: (progress: ImportProgress) => void
  /** Accepts an archive with an older update time or with too few companies. */
  isForced?: boolean
  /** Accepts a file that differs too much from the served snapshot. */
  areChangesAccepted?: boolean
  limits?: Parameters<typeof downloadArchive>[0]['limits']
}

export interface ImportResult {
  info: SnapshotInfo
  /** False if the archive is the one of the current snapshot. Only the time of retrieval is then recorded. */
  changed: boolean
  /** How a new snapshot differs from the previous one. Null if it is the same, or if no previous one can be read. */
  changes: Dataset['changes']
  /** How a changed file differs from the snapshot that was served. */
  compared: Finding[]
  /** Why the journal could not be written. The next import then records this snapshot too. */
  historyFailure?: unknown
}

interface CurrentSnapshot {
  retrieval: Omit<Dataset, 'snapshot'>
  info: SnapshotInfo
  /** Whether it was normalised by the current rules. If not, an unchanged archive is imported again. */
  hasCurrentRules: boolean
}

interface FetchedArchive {
  download: Download
  location: string
  current: CurrentSnapshot | undefined
  /** The current snapshot, if it is from the same location. */
  before: CurrentSnapshot | undefined
  retrievedAt: Date
}

export async function importDataset(request: ImportRequest): Promise<ImportResult> {
  const { dataDirectory, catalog, path, location = path, now, limits } = request
  const retrievedAt = now()
  await removeUntouched(buildingFolder(dataDirectory), retrievedAt)
  const current = await readCurrentSnapshot(dataDirectory, catalog)
  const before = current?.retrieval.location === location ? current : undefined
  const archive = { location, current, before, retrievedAt }
  const folder = newBuildingFolder(dataDirectory)
  const validators = current?.hasCurrentRules ? current.retrieval.validators : null
  try {
    const fetched = isUrl(path)
      ? await downloadArchive({ location: path, folder, validators, limits })
      : { path, validators: null, updatedAt: null }
    return await publishArchive(request, { ...archive, download: fetched })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function publishArchive(request: ImportRequest, archive: FetchedArchive): Promise<ImportResult> {
  const { catalog, publication } = request
  const { location, current, before } = archive
  const { info, archive_sha256, changed, compared, changes: built } = await buildOrReuse(request, archive)
  const isSwitch = info.snapshot_id !== current?.info.snapshot_id
  const changes = isSwitch ? built : null
  const source_updated_at = sourceUpdatedAt(archive, changed)
  const source = { ...publication, retrieved_at: archive.retrievedAt.toISOString(), source_updated_at }
  const facts: Retrieval = { snapshot_id: info.snapshot_id, location, archive_sha256, source }
  const newestBefore = request.isForced ? null : (before?.retrieval.newest_update ?? null)
  const entry = {
    ...facts,
    // ISO 8601 times in UTC sort as text.
    newest_update: (source_updated_at ?? '') > (newestBefore ?? '') ? source_updated_at : newestBefore,
    validators: archive.download.validators,
  }
  // Known records are sold at once: a service that was down for days must not wait for the journal.
  if (!isSwitch) await catalog.publish({ ...entry, changes: current.retrieval.changes })
  const historyFailure = await recordHistory(request, { served: current?.retrieval, file: facts })
  if (isSwitch) {
    await catalog.publish({ ...entry, changes })
    await prune(request, [info.snapshot_id, ...(current ? [current.info.snapshot_id] : [])])
  }
  return { info, changed, changes, compared, historyFailure }
}

/**
 * A journal that cannot be written does not stop the import, because the current records are sold without it. A forced
 * older file is sold and not recorded.
 * @returns why it could not be written
 */
async function recordHistory(
  { dataDirectory, isForced = false }: ImportRequest,
  files: { served: Retrieval | undefined; file: Retrieval },
): Promise<unknown> {
  try {
    await addRetrievals({ dataDirectory, isForced, ...files })
    return undefined
  } catch (cause) {
    return cause
  }
}

/**
 * Removes old snapshots, but none that this process has open. Stored responses need no snapshot. Ignores failures: the
 * import has succeeded, and the next one prunes again.
 */
async function prune({ dataDirectory, catalog, now }: ImportRequest, keep: string[]): Promise<void> {
  const kept = [...keep, ...catalog.openSnapshots()].map((id) => basename(snapshotFolder(dataDirectory, id)))
  await removeUntouched(snapshotsFolder(dataDirectory), now(), new Set(kept)).catch(() => undefined)
}

/** Returns the current snapshot if the archive has the same bytes. Otherwise builds a new one. */
async function buildOrReuse(
  request: ImportRequest,
  archive: FetchedArchive,
): Promise<Omit<ImportResult, 'historyFailure'> & Pick<Dataset, 'archive_sha256'>> {
  const { download, current, before } = archive
  const { path } = download
  const archive_sha256 = path === undefined ? current?.retrieval.archive_sha256 : await sha256OfFile(path)
  if (current?.hasCurrentRules && current.retrieval.archive_sha256 === archive_sha256)
    return { info: current.info, archive_sha256, changed: false, changes: null, compared: [] }
  if (path === undefined || archive_sha256 === undefined)
    throw new Error('a conditional request was sent without a current snapshot')
  const newest = before?.retrieval.newest_update ?? null
  // An older time of update: the source was reset or replaced.
  if (!request.isForced && download.updatedAt && newest !== null && download.updatedAt < newest)
    throw new ImportError('source_older', 'the source states an older update time than before')
  const built = await buildArchive(request, path, archive)
  const { compared = [], changes: counts, ...info } = built
  const changes = current && counts ? { previous_snapshot_id: current.info.snapshot_id, ...counts } : null
  return { info, archive_sha256, changed: true, changes, compared }
}

function buildArchive(
  request: ImportRequest,
  path: string,
  { location, current, before }: FetchedArchive,
): Promise<BuiltSnapshot> {
  const { dataDirectory, now, onProgress, areChangesAccepted = false } = request
  const importedAt = now().toISOString()
  const companiesMin = request.isForced ? 0 : minCompanyCount(location)
  const comparedWith = current && {
    folder: snapshotFolder(dataDirectory, current.info.snapshot_id),
    rules: areChangesAccepted ? ('none' as const) : rulesFor(before),
    days: Math.floor((now().getTime() - Date.parse(current.info.imported_at)) / DAY_MS),
  }
  return buildFile({ dataDirectory, path, importedAt, companiesMin, comparedWith }, { onProgress })
}

/** Other rules of normalisation change records, and another location may be another register. */
function rulesFor(before: CurrentSnapshot | undefined): ComparedWith['rules'] {
  if (!before) return 'none'
  return before.hasCurrentRules && before.info.company_count >= JUDGED_COMPANIES_MIN ? 'all' : 'numbers'
}

/**
 * The time that the source states, unless it lies in the future. An unchanged archive keeps the time that was recorded
 * for its location.
 */
function sourceUpdatedAt({ download, before, retrievedAt }: FetchedArchive, changed: boolean): string | null {
  if (download.updatedAt !== null && download.updatedAt <= retrievedAt.toISOString()) return download.updatedAt
  return changed ? null : (before?.retrieval.source.source_updated_at ?? null)
}

/** Returns undefined if the snapshot is missing or damaged. It is then built again from its archive. */
async function readCurrentSnapshot(dataDirectory: string, catalog: Catalog): Promise<CurrentSnapshot | undefined> {
  const retrieval = catalog.retrieval()
  const info = retrieval && (await readSnapshotInfo(snapshotFolder(dataDirectory, retrieval.snapshot_id)))
  return info && { retrieval, info, hasCurrentRules: info.normalisation === NORMALISATION_VERSION }
}
