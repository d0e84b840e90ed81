/** The catalogue: which snapshot is current, when it was retrieved, and the atomic change to the next one. */
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { CURRENT_KEY, catalogFolder, snapshotFolder } from './layout.ts'
import { awaitWrite, openEnvironment } from './environment.ts'
import { openSnapshot, type Snapshot, type SnapshotInfo } from './snapshot.ts'
import { sourceSchema, type Source } from './source.ts'

/** A dataset whose last successful retrieval is older than this is not sold (contract 3.1). */
const STALE_AFTER_MS = 72 * 60 * 60 * 1000

/** LMDB is read once per interval, because every request asks for the dataset several times (benchmark row `quote`). */
const REFRESH_INTERVAL_MS = 10

/** The current snapshot, and the previous one, which running requests may still read. */
const OPEN_SNAPSHOTS_MAX = 2

/** The last successful retrieval of the source, changed or not. */
const retrievalSchema = z.strictObject({
  snapshot_id: z.string(),
  source: sourceSchema,
  /** The path, URL or name that was retrieved, to retrieve it again. */
  location: z.string(),
  archive_sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** The archive's validators (RFC 9110 section 8.8) and the URL they belong to, if the server sent any. */
  validators: z
    .strictObject({ url: z.string(), etag: z.string().nullable(), last_modified: z.string().nullable() })
    .nullable(),
})

export type Retrieval = z.infer<typeof retrievalSchema>

/** The snapshot that answers new requests, with its provenance. */
export interface Dataset {
  readonly snapshot: Snapshot
  readonly source: Source
}

export interface Catalog {
  retrieval(): Retrieval | undefined
  /** The current dataset. Sees one that another process has published after {@link REFRESH_INTERVAL_MS}. */
  current(): Dataset | undefined
  /** Describes the current snapshot without keeping it open. */
  info(): Promise<SnapshotInfo | undefined>
  /** Makes a retrieval the current one, in one durable write. The folder of its snapshot must be complete. */
  publish(retrieval: Retrieval): Promise<void>
  /** The ids of the snapshots that this process may still read. */
  openSnapshots(): string[]
  close(): Promise<void>
}

export function openCatalog(dataDirectory: string): Catalog {
  const environment = openEnvironment({ folder: catalogFolder(dataDirectory), kind: 'catalog' })
  const opened = new LRUCache<string, Snapshot>({
    max: OPEN_SNAPSHOTS_MAX,
    // The environment is read-only, so a failed close loses nothing.
    dispose: (oldest) => void oldest.close().catch(() => undefined),
  })

  let last: { bytes: Buffer; retrieval: Retrieval } | undefined

  /** Reads LMDB every time, but parses only changed bytes. */
  function retrieval(): Retrieval | undefined {
    const bytes = environment.getBinary(CURRENT_KEY)
    if (bytes === undefined) return undefined
    if (!last?.bytes.equals(bytes)) last = { bytes, retrieval: retrievalSchema.parse(JSON.parse(bytes.toString())) }
    return last.retrieval
  }

  function snapshot(id: string): Snapshot {
    const wanted = opened.get(id) ?? openSnapshot(snapshotFolder(dataDirectory, id))
    opened.set(id, wanted)
    return wanted
  }

  let current: Dataset | undefined
  let refreshedAt = Number.NEGATIVE_INFINITY

  return {
    retrieval,
    current() {
      const now = performance.now()
      if (now - refreshedAt < REFRESH_INTERVAL_MS) return current
      const found = retrieval()
      current = found && { snapshot: snapshot(found.snapshot_id), source: found.source }
      // After the reads: if one throws, the next call tries again instead of returning the old dataset.
      refreshedAt = now
      return current
    },
    async info() {
      const id = retrieval()?.snapshot_id
      if (id === undefined) return undefined
      const known = opened.get(id)
      if (known) return known.info
      const closed = openSnapshot(snapshotFolder(dataDirectory, id))
      await closed.close()
      return closed.info
    },
    async publish(next) {
      await awaitWrite(environment.put(CURRENT_KEY, retrievalSchema.parse(next)))
      refreshedAt = Number.NEGATIVE_INFINITY
    },
    openSnapshots: () => [...opened.keys()],
    async close() {
      await Promise.all([...opened.values()].map((each) => each.close()))
      await environment.close()
    },
  }
}

/** A `stale` dataset is not sold. */
export function datasetStatus(source: Source, now: Date): 'ready' | 'stale' {
  return now.getTime() - Date.parse(source.retrieved_at) > STALE_AFTER_MS ? 'stale' : 'ready'
}
