/** The folders of downloads and builds in progress. A killed import leaves its folder behind. */
import { randomUUID } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { buildingFolder } from '../files/layout.ts'

/** A folder untouched for longer is abandoned: imports write every minute, and a download without bytes ends after one. */
const UNTOUCHED_MS_MAX = 10 * 60 * 1000

/** Returns the path of a new folder for one import. The caller creates it. */
export function newBuildingFolder(dataDirectory: string): string {
  return join(buildingFolder(dataDirectory), randomUUID())
}

/**
 * Removes the folders of imports that were killed. They are known by their age: an id of a process can belong to another
 * process by now, or to one in another container.
 */
export async function removeAbandonedBuilds(dataDirectory: string, now: Date): Promise<void> {
  const root = buildingFolder(dataDirectory)
  for (const name of await readdir(root).catch(() => [])) {
    const folder = join(root, name)
    if (await isUntouched(folder, now)) await rm(folder, { recursive: true, force: true })
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
