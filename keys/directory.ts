/** Reads the directory of key files and checks its permissions. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ifMissing } from '../store/base/error-code.ts'
import { findOpenMode, makePrivateDirectory } from '../store/files/private-files.ts'
import { throwKeyError, withKeyError } from './errors.ts'
import { KEY_FILE_SUFFIX, readKeyFile, type StoredKey } from './key-file.ts'

export type DirectoryKeys = Awaited<ReturnType<typeof readDirectory>>

/** Creates the directory with mode 0700 if it is missing. */
export async function makeDirectory(directory: string): Promise<void> {
  await withKeyError(directory, 'cannot be created', () => makePrivateDirectory(directory))
}

/**
 * Reads every key file and ignores other files. A missing directory has no keys. The key that was made, retired or
 * compromised last comes first; between equal times, the first kid in text order.
 * @throws KeyError if the directory or any key file breaks a rule, so that no key is left out silently
 */
export async function readDirectory(directory: string) {
  const keys: StoredKey[] = []
  for (const name of await keyFileNames(directory)) keys.push(await readKeyFile(join(directory, name)))
  const signing = keys.filter((key) => key.kind === 'signing')
  const retired = keys.filter((key) => key.kind === 'retired')
  const compromised = keys.filter((key) => key.kind === 'compromised')
  return {
    signing: signing.toSorted((a, b) => b.madeAtSeconds - a.madeAtSeconds || byKid(a, b)),
    retired: retired.toSorted((a, b) => b.retiredAtSeconds - a.retiredAtSeconds || byKid(a, b)),
    compromised: compromised.toSorted((a, b) => b.compromisedAtSeconds - a.compromisedAtSeconds || byKid(a, b)),
  }
}

function byKid(a: StoredKey, b: StoredKey): number {
  return a.publicJwk.kid < b.publicJwk.kid ? -1 : 1
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
