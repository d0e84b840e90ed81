/** Small files that are either there whole or not at all, also after a crash. */
import { open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** For their owner's eyes only. */
const PRIVATE_MODE = 0o600

/** Written beside its place, flushed, and put there by one rename. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const beside = `${path}.new`
  await rm(beside, { force: true })
  const file = await open(beside, 'wx', PRIVATE_MODE)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(beside, path)
  await flushDirectory(dirname(path))
}

export async function flushFile(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Undefined when there is no such file. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw cause
  }
}

/** Windows can't flush a directory, and needn't. */
async function flushDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r').catch(() => undefined)
  try {
    await directory?.sync().catch(() => undefined)
  } finally {
    await directory?.close()
  }
}
