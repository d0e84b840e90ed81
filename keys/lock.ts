/**
 * The lock of a key directory. Without the lock, one command could overwrite the change of another, for example retire
 * a key that the other has just marked as compromised.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { acquireProcessLock } from '../store/files/process-lock.ts'
import { readDirectory, type DirectoryKeys } from './directory.ts'
import { throwKeyError } from './errors.ts'

/** A folder in the key directory. */
export const LOCK_FOLDER = 'lock'

/** 20 s of pauses in total. A change takes milliseconds. */
const ATTEMPTS_MAX = 200
const ATTEMPT_MS = 100

type Sleep = (milliseconds: number) => Promise<void>

/**
 * Runs `change` with the keys of a directory. Meanwhile no other process can change them. Waits while another has the
 * lock.
 * @throws KeyError if the directory breaks a rule, if another process keeps the lock, or if the lock cannot be used
 */
export async function changeKeys<T>(
  directory: string,
  change: (keys: DirectoryKeys) => Promise<T>,
  sleep: Sleep = setTimeout,
): Promise<T> {
  // Refuses a directory that breaks a rule, and one that is missing, before anything is created in it.
  const found = await readDirectory(directory)
  if (!existsSync(directory)) return change(found)
  await using _ = await waitForLock(directory, sleep)
  return await change(await readDirectory(directory))
}

async function waitForLock(directory: string, sleep: Sleep): Promise<AsyncDisposable> {
  const folder = join(directory, LOCK_FOLDER)
  for (let attempt = 1; ; attempt += 1) {
    const lock = await acquireProcessLock({ folder, ownPid: process.pid }).catch((cause: unknown) =>
      throwKeyError(directory, `cannot be locked: ${cause instanceof Error ? cause.message : String(cause)}`, cause),
    )
    if (lock.kind === 'acquired') return lock
    if (attempt === ATTEMPTS_MAX) return throwKeyError(directory, 'is being changed by another process: try again')
    await sleep(ATTEMPT_MS)
  }
}
