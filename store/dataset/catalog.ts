/** The catalogue: which snapshot is current, when it was retrieved, and the atomic change to the next one. */
import type { RootDatabase } from 'lmdb'
import { LRUCache } from 'lru-cache'
import * as z from 'zod'
import { catalogFolder, snapshotFolder } from '../files/layout.ts'
import { awaitWrite, checkHead, openEnvironment, orStoreError, placeOf, StoreError } from '../files/environment.ts'
import { HOUR_MS } from '../../base/day.ts'
import { sha256Schema } from '../../base/digest.ts'
import type { Report } from '../../base/runtime.ts'
import { openSnapshot, type Snapshot } from './snapshot.ts'
import { retrievalSchema, type Source } from './source.ts'

/** A dataset whose last successful retrieval is older than this is not sold (contract 3.1). */
const STALE_AFTER_MS = 72 * HOUR_MS

/** LMDB is read once per interval, because every request asks for the dataset several times (benchmark row `quote`). */
const REFRESH_INTERVAL_MS = 10

/** A snapshot that could not be opened is tried again after this time, so that failing attempts use little time. */
const REOPEN_INTERVAL_MS = 1_000

const CURRENT_KEY = 'current'

/** The current snapshot, and the previous one, which running requests may still read. */
const OPEN_SNAPSHOTS_MAX = 2

const count = z.int().nonnegative()

/** The last successful retrieval of the source, changed or not: the stored part of a dataset. */
const entrySchema = z.strictObject({
  ...retrievalSchema.shape,
  archive_sha256: sha256Schema,
  /** The newest update time that this location has stated. Later retrievals without a time keep it. */
  newest_update: z.iso.datetime().nullable(),
  /** How the snapshot differs from the previous one, for the log. Null if no previous one could be read. */
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

interface CatalogOptions {
  report?: Report
  /**
   * Called once for each new snapshot that `current` returns, whichever process imported it. Not called for the first
   * one.
   */
  onChange?: (dataset: Dataset) => void
}

/**
 * The stored dataset and what is known about archives. Reads LMDB for the current dataset at most once in an interval.
 */
export class Catalog {
  readonly #dataDirectory: string
  readonly #options: Required<CatalogOptions>
  readonly #environment: RootDatabase<unknown, string>
  /** By id, each with the identity of its file, so that a replaced file is noticed. */
  readonly #opened = new LRUCache<string, { snapshot: Snapshot; file: string | undefined }>({
    max: OPEN_SNAPSHOTS_MAX,
    // The environment is read-only, so a failed close loses nothing.
    dispose: ({ snapshot }) => void snapshot.close().catch(() => undefined),
  })
  #current: Dataset | undefined
  #isUnreadable = false
  #seenId: string | undefined
  #refreshedAt = Number.NEGATIVE_INFINITY

  constructor(dataDirectory: string, { report = () => undefined, onChange = () => undefined }: CatalogOptions = {}) {
    this.#dataDirectory = dataDirectory
    this.#options = { report, onChange }
    this.#environment = openEnvironment({ folder: catalogFolder(dataDirectory), kind: 'catalog' })
    this.#seenId = this.retrieval()?.snapshot_id
  }

  /** The last retrieval. Undefined without one, or if its entry is damaged. */
  retrieval(): CatalogEntry | undefined {
    try {
      return this.#readEntry()
    } catch (cause) {
      if (cause instanceof StoreError) return undefined
      throw cause
    }
  }

  /**
   * The current dataset, or undefined if none is stored or its snapshot cannot be read. Sees a published dataset of
   * another process after {@link REFRESH_INTERVAL_MS}, and a repaired snapshot after {@link REOPEN_INTERVAL_MS}.
   */
  current(): Dataset | undefined {
    const now = performance.now()
    const interval = this.#isUnreadable ? REOPEN_INTERVAL_MS : REFRESH_INTERVAL_MS
    if (now - this.#refreshedAt < interval) return this.#current
    this.#refresh()
    // After the reads: if one throws, the next call tries again instead of returning the old dataset.
    this.#refreshedAt = now
    return this.#current
  }

  /** Makes a retrieval the current one, in one durable write. The folder of its snapshot must be complete. */
  async publish(entry: CatalogEntry): Promise<void> {
    await awaitWrite(this.#environment.put(CURRENT_KEY, entrySchema.parse(entry)))
    this.expire()
  }

  /** The next read sees what another process has published. */
  expire(): void {
    this.#refreshedAt = Number.NEGATIVE_INFINITY
  }

  /** The ids of the snapshots that this process may still read. */
  openSnapshots(): string[] {
    return [...this.#opened.keys()]
  }

  async close(): Promise<void> {
    await Promise.all([...this.#opened.values()].map(({ snapshot }) => snapshot.close()))
    await this.#environment.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #refresh(): void {
    const { report, onChange } = this.#options
    try {
      const found = this.#readEntry()
      this.#current = found && { ...found, snapshot: this.#open(found.snapshot_id) }
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

  /** @throws StoreError if the entry is damaged. The next retrieval writes a new one */
  #readEntry(): CatalogEntry | undefined {
    checkHead(catalogFolder(this.#dataDirectory))
    return orStoreError('The entry of the catalogue is damaged', () => {
      const bytes = this.#environment.getBinary(CURRENT_KEY)
      return bytes && entrySchema.parse(JSON.parse(bytes.toString()))
    })
  }

  /** Opens a snapshot again if its file was replaced. A snapshot that is open stays usable when its file is deleted. */
  #open(id: string): Snapshot {
    const folder = snapshotFolder(this.#dataDirectory, id)
    const file = placeOf(folder)
    const known = this.#opened.get(id)
    if (known && (file === undefined || file === known.file)) return known.snapshot
    const snapshot = openSnapshot(folder)
    this.#opened.set(id, { snapshot, file })
    return snapshot
  }
}

/** A `stale` dataset is not sold. */
export function datasetStatus(source: Source, now: Date): 'ready' | 'stale' {
  return now.getTime() - Date.parse(source.retrieved_at) > STALE_AFTER_MS ? 'stale' : 'ready'
}
