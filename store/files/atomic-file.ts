/**
 * Durable files. The only atomic file write: writes a temporary file, syncs it, renames it and syncs the directory.
 * After a crash the file has the old content or the new content. Only their owner can access the files.
 */
import { randomUUID } from 'node:crypto'
import { constants, copyFile, link, open, readdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DAY_MS } from '../../base/day.ts'
import { errorCode, ifMissing } from '../../base/error-code.ts'

/** The suffix of temporary files. A crash may leave one behind. */
const UNFINISHED_SUFFIX = '.tmp'

/**
 * A temporary file older than this was left by a crash, or its writer is suspended. A suspended writer then fails, and
 * its caller repeats the write.
 */
export const UNFINISHED_AGE_MS = DAY_MS

const OWNER_ONLY_MODE = 0o600

/**
 * Creates or replaces a file.
 * @throws the system's error; `path` then holds the old content, or the new content if only the last fsync failed
 */
export async function writeFileAtomically(path: string, text: string | Uint8Array): Promise<void> {
  await publish(path, text, rename)
}

/** Creates a file that does not exist yet. Returns false, and changes nothing, if `path` exists. */
export async function createFileAtomically(path: string, text: string): Promise<boolean> {
  try {
    // `rename` replaces an existing file; `link` fails with EEXIST.
    await publish(path, text, link)
    return true
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST') throw cause
    // The process that created it may not have made its name durable yet.
    await syncDirectory(dirname(path))
    return false
  }
}

/** A name that `publish` gives: the file, a UUID, the suffix. The suffix begins with a dot. */
const TEMPORARY_NAME = new RegExp(`^(.+)\\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\\${UNFINISHED_SUFFIX}$`)

async function publish(path: string, text: string | Uint8Array, renameOrLink: typeof rename): Promise<void> {
  const temporary = `${path}.${randomUUID()}${UNFINISHED_SUFFIX}`
  try {
    await writeFile(temporary, text, { flag: 'wx', mode: OWNER_ONLY_MODE, flush: true })
    await renameOrLink(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
  await syncDirectory(dirname(path))
}

/** Moves a file, or a folder to a path that does not exist or is an empty folder. */
export async function renameDurably(from: string, to: string): Promise<void> {
  await rmdir(to).catch(() => undefined)
  await rename(from, to)
  await syncDirectory(dirname(to))
}

export async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_EXCL)
  await syncFile(to)
}

export async function syncFile(path: string): Promise<void> {
  await using file = await open(path, 'r+')
  await file.chmod(OWNER_ONLY_MODE)
  await file.sync()
  await syncDirectory(dirname(path))
}

/** Makes created, renamed and removed names in a directory durable. */
export async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory as a file and makes names durable itself.
  if (process.platform === 'win32') return
  await using directory = await open(path, 'r')
  await directory.sync()
}

/** Removes temporary files older than a day whose target is a JSON file. A missing folder has none. */
export async function removeOldUnfinished({ folder, now }: { folder: string; now: Date }) {
  const names = await readdir(folder).catch(ifMissing([]))
  const isTemporary = (name: string) => TEMPORARY_NAME.exec(name)?.[1]?.endsWith('.json') === true
  for (const path of names.filter(isTemporary).map((name) => join(folder, name))) {
    // Undefined if the writer has finished in the meantime.
    const writtenAt = (await stat(path).catch(() => undefined))?.mtimeMs
    if (writtenAt !== undefined && now.getTime() - writtenAt > UNFINISHED_AGE_MS) await rm(path, { force: true })
  }
}
