/** Which permissions files and directories with secrets may have. Windows has no such permissions. */
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, realpathSync, type Stats } from 'node:fs'
import { chmod, mkdir, opendir, readdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { errorCode, ifMissing } from '../../base/error-code.ts'
import { syncDirectory } from './atomic-file.ts'

const OTHERS_MASK = 0o077

export const PRIVATE_DIRECTORY_MODE = 0o700
const PRIVATE_FILE_MODE = 0o600

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
 * Whether others may read a secret because of its mount, as with systemd credentials, Kubernetes and Compose: it
 * belongs to root, and this process cannot change it. All may read it only in a mount that is read-only.
 */
export function isMountedSecret(path: string, { uid, mode }: Pick<Stats, 'uid' | 'mode'>): boolean {
  const isForeign = uid === 0 && process.getuid?.() !== 0
  if (!isForeign || (mode & 0o033) !== 0) return false
  return (mode & 0o004) === 0 || isMountReadOnly(path)
}

/** The fields of a line: ids, root, mount point, options (proc_pid_mountinfo(5)). */
const MOUNT_LINE = /^\S+ \S+ \S+ \S+ (\S+) (\S+)/

function isMountReadOnly(path: string): boolean {
  const real = realpathSync(path)
  let nearest = { point: '', options: '' }
  for (const line of readFileSync('/proc/self/mountinfo', 'utf8').split('\n')) {
    const [, point = '', options = ''] = MOUNT_LINE.exec(line) ?? []
    const contains = real === point || real.startsWith(point.endsWith('/') ? point : `${point}/`)
    // Of two mounts at one point the later one counts.
    if (point !== '' && contains && point.length >= nearest.point.length) nearest = { point, options }
  }
  return nearest.options.split(',').includes('ro')
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
      if (findOpenMode(stats.mode) !== undefined && !isMountedSecret(path, stats)) return { kind: 'open' }
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
 * Refuses a directory that group or others can access, unless this process owns it: then the start sets its mode. A
 * missing directory passes.
 * @throws an error with a message of one line that names the command to run
 */
export async function checkPrivateDirectory(path: string): Promise<void> {
  const stats = await stat(path).catch(() => undefined)
  const fault = stats?.isDirectory() && !isOwn(stats) ? findOpenMode(stats.mode) : undefined
  if (fault !== undefined) throw new Error(`${JSON.stringify(path)} ${fault}: run chmod 700 ${JSON.stringify(path)}`)
}

const isOwn = ({ uid }: Stats) => uid === process.getuid?.()

/** Volumes with a group get other modes at each mount. Sets those of the directory and its files that are its own. */
export async function setPrivateModes(directory: string, { withFiles = true } = {}): Promise<void> {
  const names = withFiles ? await readdir(directory).catch(ifMissing([])) : []
  for (const path of [directory, ...names.map((name) => join(directory, name))]) {
    const stats = await stat(path).catch(ifMissing(undefined))
    const mode = stats?.isDirectory() ? PRIVATE_DIRECTORY_MODE : PRIVATE_FILE_MODE
    if (stats && isOwn(stats) && findOpenMode(stats.mode) !== undefined) await chmod(path, mode)
  }
}
