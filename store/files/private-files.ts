/** Which permissions files and directories with secrets may have. Windows has no such permissions. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { mkdir, opendir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { errorCode, ifMissing } from '../base/error-code.ts'
import { syncDirectory } from './atomic-file.ts'

const OTHERS_MASK = 0o077

export const PRIVATE_DIRECTORY_MODE = 0o700

/** Removes the permissions of group and others from everything that this process and its child processes create. */
export function setPrivateUmask(): void {
  process.umask(OTHERS_MASK)
}

/**
 * Creates a directory and its missing parents, for their owner only, and syncs their names to disk. Creates one level
 * at a time, because the recursive mkdir of Node never ends where the system creates nothing, such as below /proc.
 */
export async function makePrivateDirectory(path: string): Promise<void> {
  const stats = await stat(path).catch(ifMissing(undefined))
  if (stats?.isDirectory()) return
  const parent = dirname(resolve(path))
  await makePrivateDirectory(parent)
  await mkdir(path, { mode: PRIVATE_DIRECTORY_MODE }).catch(async (cause: unknown) => {
    if (errorCode(cause) !== 'EEXIST') throw cause
    // Another process may have created it. Opening it fails if it is no directory.
    await (await opendir(path)).close()
  })
  await syncDirectory(parent)
}

/**
 * The fault of a mode that gives group or others any permission, as the end of a sentence. Undefined if it gives none.
 */
export function findOpenMode(mode: number, platform: NodeJS.Platform = process.platform): string | undefined {
  if (platform === 'win32' || (mode & OTHERS_MASK) === 0) return undefined
  return `has mode 0${(mode & 0o777).toString(8)}; only its owner may have access`
}

/**
 * Reads the first bytes of a file with a secret. `open`: group or others can access it. `unreadable`: there is no such
 * file, or it is no regular one, which may have no end. Checks the opened file instead of its name.
 */
export function readPrivateFile(
  path: string,
  bytesMax: number,
  flags = 0,
): { kind: 'read'; text: string } | { kind: 'open' } | { kind: 'unreadable' } {
  try {
    // A pipe without a writer would otherwise hold the process.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | flags)
    try {
      const stats = fstatSync(file)
      if (!stats.isFile()) return { kind: 'unreadable' }
      if (findOpenMode(stats.mode) !== undefined) return { kind: 'open' }
      const bytes = Buffer.alloc(bytesMax)
      return { kind: 'read', text: bytes.toString('utf8', 0, readSync(file, bytes)) }
    } finally {
      closeSync(file)
    }
  } catch {
    return { kind: 'unreadable' }
  }
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
