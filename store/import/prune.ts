/**
 * Removes every snapshot but the current one, the previous one and those that this process has open. Stored responses
 * need no snapshot: their bodies are in the response log.
 */
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Catalog } from '../dataset/catalog.ts'
import { snapshotFolder, snapshotsFolder } from '../files/layout.ts'

/** Younger folders are kept, because another import may be about to publish one. Publishing takes two fsyncs. */
const UNPUBLISHED_MS_MAX = 10 * 60 * 1000

interface PruneOptions {
  dataDirectory: string
  catalog: Catalog
  /** The ids of the current and the previous snapshot. */
  keep: readonly string[]
  now: Date
}

export async function pruneSnapshots({ dataDirectory, catalog, keep, now }: PruneOptions): Promise<void> {
  const folderName = (snapshotId: string) => basename(snapshotFolder(dataDirectory, snapshotId))
  const kept = new Set([...keep, ...catalog.openSnapshots()].map(folderName))
  const root = snapshotsFolder(dataDirectory)
  for (const name of await readdir(root)) {
    if (kept.has(name)) continue
    const folder = join(root, name)
    // Undefined if another import has pruned the folder in the meantime.
    const stats = await stat(folder).catch(() => undefined)
    if (stats && now.getTime() - stats.mtimeMs > UNPUBLISHED_MS_MAX) await rm(folder, { recursive: true, force: true })
  }
}
