/** Writes a private file so that a crash leaves the old one or the new one, never half of either. */
import { randomUUID } from 'node:crypto'
import { open, rename, rm, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { attempt } from './errors.ts'

/** A file being written; a crash may leave one behind. */
export const UNFINISHED_SUFFIX = '.tmp'

/** Read and write for the owner only. */
const OWNER_ONLY = 0o600

/**
 * Replaces `path` by a file of mode 0600: temporary file, flush, rename, flush of the directory. The temporary name is
 * random, so that two writers never share one.
 * @throws KeyError when the system refuses a step; `path` is then what it was before, or already the new file
 */
export async function writeFileAtomically(path: string, text: string): Promise<void> {
  const unfinished = `${path}.${randomUUID()}${UNFINISHED_SUFFIX}`
  await attempt(path, 'cannot be written', async () => {
    try {
      await writeNew(unfinished, text)
      await rename(unfinished, path)
    } catch (cause) {
      await rm(unfinished, { force: true })
      throw cause
    }
    await flushDirectory(dirname(path))
  })
}

/** Makes changes of names in a directory durable. */
export async function flushDirectory(directory: string): Promise<void> {
  await closing(await open(directory, 'r'), (handle) => handle.sync())
}

async function writeNew(path: string, text: string): Promise<void> {
  await closing(await open(path, 'wx', OWNER_ONLY), async (file) => {
    await file.writeFile(text)
    await file.sync()
  })
}

async function closing(handle: FileHandle, use: (handle: FileHandle) => Promise<void>): Promise<void> {
  try {
    await use(handle)
  } finally {
    await handle.close()
  }
}
