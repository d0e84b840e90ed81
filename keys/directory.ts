/** Reads the directory of key files and checks its permissions. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../store/base/error-code.ts'
import { findOpenMode, makePrivateDirectory } from '../store/files/private-files.ts'
import { throwKeyError, withKeyError } from './errors.ts'
import {
  KEY_FILE_SUFFIX,
  readKeyFile,
  type CompromisedKey,
  type RetiredKey,
  type SigningKey,
  type StoredKey,
} from './key-file.ts'

export type DirectoryKeys = {
  /** Private keys, newest first. Between equal times, the first kid in text order comes first. */
  readonly signing: readonly SigningKey[]
  /** The key that was retired last comes first. */
  readonly retired: readonly RetiredKey[]
  /** The key that was compromised last comes first. */
  readonly compromised: readonly CompromisedKey[]
}

/** Creates the directory with mode 0700 if it is missing. */
export async function makeDirectory(directory: string): Promise<void> {
  await withKeyError(directory, 'cannot be created', () => makePrivateDirectory(directory))
}

/**
 * Reads every key file and ignores other files. A missing directory has no keys.
 * @throws KeyError if the directory or any key file breaks a rule, so that no key is left out silently
 */
export async function readDirectory(directory: string): Promise<DirectoryKeys> {
  const keys: StoredKey[] = []
  for (const name of await keyFileNames(directory)) keys.push(await readKeyFile(join(directory, name)))
  return sortKeys(keys)
}

function sortKeys(keys: readonly StoredKey[]): DirectoryKeys {
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
  const names = await withKeyError(directory, 'cannot be read as a directory', () => listDirectory(directory))
  return names.filter((name) => name.endsWith(KEY_FILE_SUFFIX)).toSorted()
}

async function listDirectory(directory: string): Promise<string[]> {
  const mode = await stat(directory).then(
    (stats) => stats.mode,
    (error: unknown) => {
      if (errorCode(error) === 'ENOENT') return undefined
      throw error
    },
  )
  if (mode === undefined) return []
  const fault = findOpenMode(mode)
  if (fault !== undefined) throwKeyError(directory, `${fault}: run chmod 700 ${JSON.stringify(directory)}`)
  return await readdir(directory)
}
