/**
 * The only atomic file write: writes a temporary file, syncs it, renames it and syncs the directory. After a crash the
 * file has the old content or the new content. Files are accessible to their owner only, because they may hold secrets.
 */
import { randomUUID } from 'node:crypto'
import { link, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorCode } from '../base/error-code.ts'

/** The suffix of temporary files. A crash may leave one behind. */
export const UNFINISHED_SUFFIX = '.tmp'

/**
 * A temporary file older than this was left by a crash, or its writer is suspended. A suspended writer then fails, and
 * its caller repeats the write.
 */
export const UNFINISHED_AGE_MS = 24 * 60 * 60 * 1000

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
    if (errorCode(cause) === 'EEXIST') return false
    throw cause
  }
}

/** A name that `publish` gives: the file, a UUID, the suffix. The suffix begins with a dot. */
const TEMPORARY_NAME = new RegExp(`^(.+)\\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\\${UNFINISHED_SUFFIX}$`)

async function publish(path: string, text: string | Uint8Array, renameOrLink: typeof rename): Promise<void> {
  const temporary = `${path}.${randomUUID()}${UNFINISHED_SUFFIX}`
  try {
    await writeDurably(temporary, text)
    await renameOrLink(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
  await syncDirectory(dirname(path))
}

/** Syncs a complete file and renames it to another path of its directory, which may exist. */
export async function replaceWithFile(path: string, complete: string): Promise<void> {
  await using file = await open(complete, 'r+')
  await file.sync()
  await rename(complete, path)
  await syncDirectory(dirname(path))
}

async function writeDurably(path: string, text: string | Uint8Array): Promise<void> {
  await using file = await open(path, 'wx', OWNER_ONLY_MODE)
  await file.writeFile(text)
  await file.sync()
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
  const names = await readdir(folder).catch((cause: unknown) => {
    if (errorCode(cause) === 'ENOENT') return []
    throw cause
  })
  const isTemporary = (name: string) => TEMPORARY_NAME.exec(name)?.[1]?.endsWith('.json') === true
  for (const path of names.filter(isTemporary).map((name) => join(folder, name))) {
    // Undefined if the writer has finished in the meantime.
    const writtenAt = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    )
    if (writtenAt !== undefined && now.getTime() - writtenAt > UNFINISHED_AGE_MS) await rm(path, { force: true })
  }
}
