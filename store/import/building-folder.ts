/** The folders in which imports build snapshots. The name identifies the process, so folders of killed imports are found. */
import { randomUUID } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { buildingFolder } from '../files/layout.ts'

/** A folder untouched for longer is abandoned: imports write every minute, and a download without bytes ends after one. */
const UNTOUCHED_MS_MAX = 10 * 60 * 1000

export interface Processes {
  ownPid: number
  /** A random name of this process. In containers, several processes and restarted ones have the same pid. */
  token: string
  isRunning: (pid: number) => boolean
  /** Processes of other containers are not visible, and their pids mean other processes here. */
  isInContainer?: boolean
}

/** Returns the path of a new folder for one import. The caller creates it. */
export function newBuildingFolder(dataDirectory: string, { ownPid, token }: Processes): string {
  return join(buildingFolder(dataDirectory), `${ownPid}-${token}-${randomUUID()}`)
}

/** Removes the folders of imports that were killed. */
export async function removeAbandonedBuilds(
  dataDirectory: string,
  { ownPid, token, isRunning, isInContainer = false }: Processes,
  now: Date,
): Promise<void> {
  const root = buildingFolder(dataDirectory)
  for (const name of await readdir(root).catch(() => [])) {
    const pid = Number.parseInt(name, 10)
    const folder = join(root, name)
    // The same pid with another token belongs to a dead process, or to one in another container that is still writing.
    const isUnclear = pid === ownPid || isInContainer
    const isAbandoned = isUnclear
      ? !name.startsWith(`${ownPid}-${token}-`) && (await isUntouched(folder, now))
      : !isRunning(pid)
    if (isAbandoned) await rm(folder, { recursive: true, force: true })
  }
}

/** Removes the folders of one process and token. */
export async function removeBuilds(
  dataDirectory: string,
  { ownPid, token }: Pick<Processes, 'ownPid' | 'token'>,
): Promise<void> {
  const root = buildingFolder(dataDirectory)
  for (const name of await readdir(root).catch(() => [])) {
    if (name.startsWith(`${ownPid}-${token}-`)) await rm(join(root, name), { recursive: true, force: true })
  }
}

async function isUntouched(folder: string, now: Date): Promise<boolean> {
  const paths = [folder, ...(await readdir(folder)).map((name) => join(folder, name))]
  // A file that disappeared meanwhile counts as touched.
  const times = await Promise.all(
    paths.map(async (path) => (await stat(path).catch(() => undefined))?.mtimeMs ?? Infinity),
  )
  return now.getTime() - Math.max(...times) > UNTOUCHED_MS_MAX
}
