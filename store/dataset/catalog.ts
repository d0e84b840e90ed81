/** The catalogue: which snapshot is current, when it was retrieved, and the atomic change to the next one. */
import { statSync } from 'node:fs'
import type { RootDatabase } from 'lmdb'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { CRASHED_KEY, CURRENT_KEY, catalogFolder, snapshotFolder } from '../files/layout.ts'
import { awaitWrite, dataFile, openEnvironment, StoreError } from '../files/environment.ts'
import type { Report } from '../base/runtime.ts'
import { openSnapshot, type Snapshot } from './snapshot.ts'
import { sourceSchema, type Source } from './source.ts'

/** A dataset whose last successful retrieval is older than this is not sold (contract 3.1). */
const STALE_AFTER_MS = 72 * 60 * 60 * 1000

/** LMDB is read once per interval, because every request asks for the dataset several times (benchmark row `quote`). */
const REFRESH_INTERVAL_MS = 10

/** A snapshot that could not be opened is tried again after this time, so that failing attempts use little time. */
const REOPEN_INTERVAL_MS = 1_000

/** The current snapshot, and the previous one, which running requests may still read. */
const OPEN_SNAPSHOTS_MAX = 2

const count = z.int().nonnegative()

/** Enough for a few failing sources. When there are more, the oldest entry is forgotten and its archive is tried again. */
const CRASHED_ARCHIVES_MAX = 10

const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/)

/** The last successful retrieval of the source, changed or not: the stored part of a dataset. */
const entrySchema = z.strictObject({
  snapshot_id: z.string(),
  source: sourceSchema,
  /** The path, URL or name that was retrieved, to retrieve it again. */
  location: z.string(),
  archive_sha256: sha256Schema,
  /** The newest update time that this location has stated. Later retrievals without a time keep it. */
  newest_update: z.iso.datetime().nullable(),
  /** How the snapshot differs from the file before it in the journal; for the log. Null if it was not recorded by this import. */
  changes: z
    .strictObject({ previous_snapshot_id: z.string().nullable(), added: count, removed: count, changed: count })
    .nullable(),
  /** The archive's validators (RFC 9110 section 8.8) and the URL they belong to, if the server sent any. */
  validators: z
    .strictObject({ url: z.string(), etag: z.string().nullable(), last_modified: z.string().nullable() })
    .nullable(),
})

type CatalogEntry = z.infer<typeof entrySchema>

/** The snapshot that answers new requests, and its retrieval. */
export interface Dataset extends CatalogEntry {
  readonly snapshot: Snapshot
}

export interface Catalog {
  /** The last retrieval. Undefined without one, or if its entry is damaged. */
  retrieval(): CatalogEntry | undefined
  /**
   * The current dataset, or undefined if none is stored or its snapshot cannot be read. Sees a published dataset of another
   * process after {@link REFRESH_INTERVAL_MS}, and a repaired snapshot after {@link REOPEN_INTERVAL_MS}.
   */
  current(): Dataset | undefined
  /** Makes a retrieval the current one, in one durable write. The folder of its snapshot must be complete. */
  publish(entry: CatalogEntry): Promise<void>
  /** Whether an archive has ended the process of its import (contract 11.10). */
  hasCrashed(archiveSha256: string): boolean
  /** Remembers or forgets such an archive, in one durable write. */
  setCrashed(archiveSha256: string, hasCrashed: boolean): Promise<void>
  /** The ids of the snapshots that this process may still read. */
  openSnapshots(): string[]
  close(): Promise<void>
}

/** An opened snapshot and the file that it reads. */
interface OpenedSnapshot {
  snapshot: Snapshot
  file: string | undefined
}

interface CatalogOptions {
  report?: Report
  /** Called once for each new snapshot that `current` returns, whichever process imported it. Not called for the first one. */
  onChange?: (dataset: Dataset) => void
}

export function openCatalog(dataDirectory: string, options: CatalogOptions = {}): Catalog {
  const { report = () => undefined, onChange = () => undefined } = options
  const environment = openEnvironment({ folder: catalogFolder(dataDirectory), kind: 'catalog' })
  const opened = new OpenedSnapshots(dataDirectory)
  const retrieval = retrievalReader(environment, report)
  const dataset = new CurrentDataset({ retrieval, opened, report, onChange })
  const crashedArchives = () => z.array(sha256Schema).catch([]).parse(environment.get(CRASHED_KEY))

  return {
    retrieval,
    current: () => dataset.read(),
    async publish(next) {
      await awaitWrite(environment.put(CURRENT_KEY, entrySchema.parse(next)))
      dataset.expire()
    },
    hasCrashed: (archiveSha256) => crashedArchives().includes(archiveSha256),
    async setCrashed(archiveSha256, hasCrashed) {
      const others = crashedArchives().filter((each) => each !== archiveSha256)
      const next = hasCrashed ? [archiveSha256, ...others].slice(0, CRASHED_ARCHIVES_MAX) : others
      await awaitWrite(environment.put(CRASHED_KEY, next))
    },
    openSnapshots: () => opened.ids(),
    async close() {
      await opened.close()
      await environment.close()
    },
  }
}

/** Reads LMDB every time, but parses only changed bytes. */
function retrievalReader(environment: RootDatabase<unknown, string>, report: Report): () => CatalogEntry | undefined {
  let last: { bytes: Buffer; entry: CatalogEntry | undefined } | undefined
  return () => {
    const bytes = environment.getBinary(CURRENT_KEY)
    if (bytes === undefined) return undefined
    if (!last?.bytes.equals(bytes)) last = { bytes, entry: parseEntry(bytes, report) }
    return last.entry
  }
}

interface CurrentDatasetOptions extends Required<CatalogOptions> {
  retrieval: () => CatalogEntry | undefined
  opened: OpenedSnapshots
}

/** Keeps the current dataset for an interval, and then reads the catalogue again. */
class CurrentDataset {
  readonly #options: CurrentDatasetOptions
  #current: Dataset | undefined
  #isUnreadable = false
  #seenId: string | undefined
  #refreshedAt = Number.NEGATIVE_INFINITY

  constructor(options: CurrentDatasetOptions) {
    this.#options = options
    this.#seenId = options.retrieval()?.snapshot_id
  }

  read(): Dataset | undefined {
    const now = performance.now()
    if (now - this.#refreshedAt < (this.#isUnreadable ? REOPEN_INTERVAL_MS : REFRESH_INTERVAL_MS)) return this.#current
    this.#refresh()
    // After the reads: if one throws, the next call tries again instead of returning the old dataset.
    this.#refreshedAt = now
    return this.#current
  }

  /** The next `read` reads the catalogue again. */
  expire(): void {
    this.#refreshedAt = Number.NEGATIVE_INFINITY
  }

  #refresh(): void {
    const { retrieval, opened, report, onChange } = this.#options
    try {
      const found = retrieval()
      this.#current = found && { ...found, snapshot: opened.open(found.snapshot_id) }
      this.#isUnreadable = false
      const previousId = this.#seenId
      this.#seenId = found?.snapshot_id
      if (this.#current && previousId !== undefined && this.#seenId !== previousId) onChange(this.#current)
    } catch (cause) {
      if (!(cause instanceof StoreError)) throw cause
      this.#current = undefined
      if (!this.#isUnreadable) report('dataset_unreadable', cause)
      this.#isUnreadable = true
    }
  }
}

/** The snapshots that are open. Closes the one that was used longest ago when there are more than {@link OPEN_SNAPSHOTS_MAX}. */
class OpenedSnapshots {
  readonly #dataDirectory: string
  readonly #opened = new LRUCache<string, OpenedSnapshot>({
    max: OPEN_SNAPSHOTS_MAX,
    // The environment is read-only, so a failed close loses nothing.
    dispose: ({ snapshot }) => void snapshot.close().catch(() => undefined),
  })

  constructor(dataDirectory: string) {
    this.#dataDirectory = dataDirectory
  }

  /** Opens a snapshot again if its file was replaced. A snapshot that is open stays usable when its file is deleted. */
  open(id: string): Snapshot {
    const folder = snapshotFolder(this.#dataDirectory, id)
    const file = fileIdentity(dataFile(folder))
    const known = this.#opened.get(id)
    if (known && (file === undefined || file === known.file)) return known.snapshot
    const snapshot = openSnapshot(folder)
    this.#opened.set(id, { snapshot, file })
    return snapshot
  }

  ids(): string[] {
    return [...this.#opened.keys()]
  }

  async close(): Promise<void> {
    await Promise.all([...this.#opened.values()].map(({ snapshot }) => snapshot.close()))
  }
}

/** A damaged entry is reported and ignored: the next retrieval writes a new one. */
function parseEntry(bytes: Buffer, report: Report): CatalogEntry | undefined {
  try {
    return entrySchema.parse(JSON.parse(bytes.toString()))
  } catch (cause) {
    report('dataset_unreadable', new StoreError('The entry of the catalogue is damaged', { cause }))
    return undefined
  }
}

/** Equal for two reads of one file, and different for a file that replaces it while it is open. */
function fileIdentity(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats && `${stats.dev} ${stats.ino}`
}

/** A `stale` dataset is not sold. */
export function datasetStatus(source: Source, now: Date): 'ready' | 'stale' {
  return now.getTime() - Date.parse(source.retrieved_at) > STALE_AFTER_MS ? 'stale' : 'ready'
}
