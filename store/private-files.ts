/** Which permissions files and directories with secrets may have. Windows has no such permissions. */
import { stat } from 'node:fs/promises'

/** All permissions of group and others. */
const OTHERS_MASK = 0o077

/** The mode of directories, for `mkdir`. */
export const PRIVATE_DIRECTORY_MODE = 0o700

/** Removes the permissions of group and others from everything that this process and its child processes create. */
export function setPrivateUmask(): void {
  process.umask(OTHERS_MASK)
}

/** The fault of a mode that gives group or others any permission, as the end of a sentence. Undefined if it gives none. */
export function findOpenMode(mode: number, platform: NodeJS.Platform = process.platform): string | undefined {
  if (platform === 'win32' || (mode & OTHERS_MASK) === 0) return undefined
  return `has mode 0${(mode & 0o777).toString(8)}; only its owner may have access`
}

/**
 * Refuses a directory that group or others can access. A missing directory passes.
 * @throws an error with a message of one line that names the command to run
 */
export async function checkPrivateDirectory(path: string): Promise<void> {
  const stats = await stat(path).catch(() => undefined)
  const fault = stats?.isDirectory() ? findOpenMode(stats.mode) : undefined
  if (fault !== undefined) throw new Error(`${JSON.stringify(path)} ${fault}: run chmod 700 ${JSON.stringify(path)}`)
}
