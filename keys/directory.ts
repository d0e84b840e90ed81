/** Reads the directory of key files and checks its permissions. Commands add files and change none. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ifMissing } from '../store/base/error-code.ts'
import { findOpenMode, makePrivateDirectory } from '../store/files/private-files.ts'
import { throwKeyError, withKeyError } from './errors.ts'
import { KEY_FILE_SUFFIX, readKeyFile, type StoredKey } from './key-file.ts'

/** Creates the directory with mode 0700 if it is missing. */
export async function makeDirectory(directory: string): Promise<void> {
  await withKeyError(directory, 'cannot be created', () => makePrivateDirectory(directory))
}

/**
 * Reads every key file, newest key first, and ignores other files. A missing directory has no keys.
 * @throws KeyError if the directory or any key file breaks a rule, so that no key is left out silently
 */
export async function readDirectory(directory: string): Promise<StoredKey[]> {
  const keys: StoredKey[] = []
  // In the order of their kids, which stays for keys of the same second.
  for (const name of await keyFileNames(directory)) keys.push(await readKeyFile(join(directory, name)))
  return keys.toSorted((a, b) => b.madeAtSeconds - a.madeAtSeconds)
}

async function keyFileNames(directory: string): Promise<string[]> {
  const names = await withKeyError(directory, 'cannot be read as a directory', async () => {
    const stats = await stat(directory).catch(ifMissing(undefined))
    if (!stats) return []
    const fault = findOpenMode(stats.mode)
    if (fault !== undefined) throwKeyError(directory, `${fault}: run chmod 700 ${JSON.stringify(directory)}`)
    return await readdir(directory)
  })
  return names.filter((name) => name.endsWith(KEY_FILE_SUFFIX)).toSorted()
}
