/** The catalogue: which snapshot is current, when it was last retrieved, and the atomic switch to the next. */
import { z } from 'zod'
import { CURRENT_KEY, catalogFolder, snapshotFolder } from './layout.ts'
import { durable, openEnvironment } from './open.ts'
import { openSnapshot, type Snapshot, type SnapshotInfo } from './snapshot.ts'
import { sourceSchema, type Source } from './source.ts'

/** The age at which the last successful retrieval stops new purchases (spec 8). */
const STALE_AFTER_MS = 72 * 60 * 60 * 1000

/** What was current is taken for it this long: every request asks several times, and LMDB is a twentieth of a quote. */
const CURRENT_FOR_MS = 10

/** The last successful retrieval of the source, changed or not. */
const retrievalSchema = z.strictObject({
  snapshot_id: z.string(),
  source: sourceSchema,
  /** The path, URL or name that was retrieved, so that the same can be retrieved again. */
  location: z.string(),
  archive_sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** What the archive's server tells a changed one by (RFC 9110, 8.8), where it said, and the address it said it of. */
  validators: z
    .strictObject({ url: z.string(), etag: z.string().nullable(), last_modified: z.string().nullable() })
    .nullable(),
})

export type Retrieval = z.infer<typeof retrievalSchema>

/** The snapshot that answers new requests, with the provenance it is sold under. */
export interface Dataset {
  readonly snapshot: Snapshot
  readonly source: Source
}

export interface Catalog {
  retrieval(): Retrieval | undefined
  /** The current dataset, looked for again after {@link CURRENT_FOR_MS}: another process may have published one. */
  current(): Dataset | undefined
  /** What is known of the current snapshot, without holding it open for anybody. */
  info(): Promise<SnapshotInfo | undefined>
  /** Makes a retrieval the current one, in one durable step. Its snapshot's folder must be complete. */
  publish(retrieval: Retrieval): Promise<void>
  /** The ids of the snapshots that this process may still be reading. */
  openSnapshots(): string[]
  close(): Promise<void>
}

export function openCatalog(dataDirectory: string): Catalog {
  const environment = openEnvironment({ folder: catalogFolder(dataDirectory), kind: 'catalog' })
  const opened = new Map<string, Snapshot>()

  let last: { bytes: Buffer; retrieval: Retrieval } | undefined

  /** Read anew each time, and parsed only when it is another than the last. */
  function retrieval(): Retrieval | undefined {
    const bytes = environment.getBinary(CURRENT_KEY)
    if (bytes === undefined) return undefined
    if (!last?.bytes.equals(bytes)) last = { bytes, retrieval: retrievalSchema.parse(JSON.parse(bytes.toString())) }
    return last.retrieval
  }

  function snapshot(id: string): Snapshot {
    const wanted = opened.get(id) ?? openSnapshot(snapshotFolder(dataDirectory, id))
    // The last used comes last, also when an earlier snapshot became current again.
    opened.delete(id)
    opened.set(id, wanted)
    // Requests in flight may still read the one before; those before that have long been answered.
    const [oldest] = opened.size > 2 ? opened : []
    if (oldest) {
      opened.delete(oldest[0])
      // Nothing was written to it, so nothing can be lost by a close that fails.
      oldest[1].close().catch(() => undefined)
    }
    return wanted
  }

  let current: Dataset | undefined
  let lookedAt = Number.NEGATIVE_INFINITY

  return {
    retrieval,
    current() {
      const now = performance.now()
      if (now - lookedAt < CURRENT_FOR_MS) return current
      const found = retrieval()
      current = found && { snapshot: snapshot(found.snapshot_id), source: found.source }
      // Last: what could not be read is no reason to go on with what was there before.
      lookedAt = now
      return current
    },
    async info() {
      const id = retrieval()?.snapshot_id
      if (id === undefined) return undefined
      const known = opened.get(id)
      if (known) return known.info
      const unheld = openSnapshot(snapshotFolder(dataDirectory, id))
      await unheld.close()
      return unheld.info
    },
    async publish(next) {
      await durable(environment.put(CURRENT_KEY, retrievalSchema.parse(next)))
      lookedAt = Number.NEGATIVE_INFINITY
    },
    openSnapshots: () => [...opened.keys()],
    async close() {
      await Promise.all([...opened.values()].map((each) => each.close()))
      await environment.close()
    },
  }
}

/** Whether a dataset may be sold: `stale` once its last successful retrieval is over 72 hours old. */
export function datasetStatus(source: Source, now: Date): 'ready' | 'stale' {
  return now.getTime() - Date.parse(source.retrieved_at) > STALE_AFTER_MS ? 'stale' : 'ready'
}
