/** The folders of imports that are no longer used: builds and downloads that were killed, and old snapshots. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildingFolder } from '../files/layout.ts'

/**
 * Younger folders may belong to a running import: imports write every minute, a download without bytes ends after one,
 * and a snapshot may be about to be published. A process id is no proof: it can be reused, or belong to another
 * container.
 */
const UNTOUCHED_MS_MAX = 10 * 60 * 1000

/** Returns the path of a new folder for one import. The caller creates it. */
export function newBuildingFolder(dataDirectory: string): string {
  return join(buildingFolder(dataDirectory), randomUUID())
}

/** A new folder in the system's folder for temporary files, which is removed at the end of its scope. */
export async function openTemporaryFolder(prefix: string) {
  const path = await mkdtemp(join(tmpdir(), prefix))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** Removes the folders in `root` that were not touched for ten minutes, but those whose names are in `kept`. */
export async function removeUntouched(root: string, now: Date, kept: ReadonlySet<string> = new Set()): Promise<void> {
  for (const name of await readdir(root).catch(() => [])) {
    const folder = join(root, name)
    if (!kept.has(name) && (await isUntouched(folder, now))) await rm(folder, { recursive: true, force: true })
  }
}

async function isUntouched(folder: string, now: Date): Promise<boolean> {
  // A folder or file that disappeared meanwhile counts as touched.
  const names = await readdir(folder).catch(() => [])
  const times = await Promise.all(
    [folder, ...names.map((name) => join(folder, name))].map(
      async (path) => (await stat(path).catch(() => undefined))?.mtimeMs ?? Infinity,
    ),
  )
  return now.getTime() - Math.max(...times) > UNTOUCHED_MS_MAX
}
