/**
 * The lock of a key directory. Each command that changes keys reads them first: without the lock, two at once could undo each
 * other, for example retire a key that the other has marked as compromised.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { acquireProcessLock } from '../store/process-lock.ts'
import { readDirectory, type DirectoryKeys } from './directory.ts'
import { throwKeyError, withKeyError } from './errors.ts'

/** A folder in the key directory. */
export const LOCK_FOLDER = 'lock'

/** Together 20 s. A change of the keys writes a few files. */
const ATTEMPTS_MAX = 200
const ATTEMPT_MS = 100

type Sleep = (milliseconds: number) => Promise<void>

/**
 * Runs `change` with the keys of a directory, while no other process changes them. Waits for another process.
 * @throws KeyError if the directory breaks a rule, or if another process keeps the lock
 */
export async function changeKeys<T>(
  directory: string,
  change: (keys: DirectoryKeys) => Promise<T>,
  sleep: Sleep = setTimeout,
): Promise<T> {
  // Refuses a directory that breaks a rule, and one that is missing, before anything is created in it.
  const found = await readDirectory(directory)
  if (!existsSync(directory)) return change(found)
  await using locked = await waitForLock(directory, sleep)
  return await change(await locked.readKeys())
}

interface LockedDirectory extends AsyncDisposable {
  readKeys: () => Promise<DirectoryKeys>
}

async function waitForLock(directory: string, sleep: Sleep): Promise<LockedDirectory> {
  const folder = join(directory, LOCK_FOLDER)
  for (let attempt = 1; ; attempt += 1) {
    const lock = await withKeyError(folder, 'cannot be locked', () =>
      acquireProcessLock({ folder, ownPid: process.pid }),
    )
    if (lock.kind === 'acquired')
      return { readKeys: () => readDirectory(directory), [Symbol.asyncDispose]: () => lock[Symbol.asyncDispose]() }
    if (attempt === ATTEMPTS_MAX) return throwKeyError(directory, 'is being changed by another process: try again')
    await sleep(ATTEMPT_MS)
  }
}
