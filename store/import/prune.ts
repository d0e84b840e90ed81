/**
 * Removes snapshots that nobody needs: all but the current and the previous one. Stored answers need none, their bodies
 * are in the response log. One that was kept a moment ago may be another import's that is about to publish it.
 */
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Catalog } from '../catalog.ts'
import { snapshotFolder, snapshotsFolder } from '../layout.ts'

/** From keeping a snapshot to publishing it are two syncs; a loaded disk has this long for them. */
const UNPUBLISHED_MS_MAX = 10 * 60 * 1000

interface PruneRequest {
  dataDirectory: string
  catalog: Catalog
  /** The current one and the one before. */
  keep: readonly string[]
  now: Date
}

export async function pruneSnapshots({ dataDirectory, catalog, keep, now }: PruneRequest): Promise<void> {
  const nameOf = (snapshotId: string) => basename(snapshotFolder(dataDirectory, snapshotId))
  const needed = new Set([...keep, ...catalog.openSnapshots()].map(nameOf))
  const root = snapshotsFolder(dataDirectory)
  for (const name of await readdir(root)) {
    if (needed.has(name)) continue
    const folder = join(root, name)
    // Gone already: another import prunes as well.
    const found = await stat(folder).catch(() => undefined)
    if (found && now.getTime() - found.mtimeMs > UNPUBLISHED_MS_MAX) await rm(folder, { recursive: true, force: true })
  }
}
