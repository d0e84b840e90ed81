/** The directory of key files: what it may look like, which keys it holds and which of them signs. */
import { mkdir, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { attempt, errorCode, refuse } from './errors.ts'
import { KEY_FILE_SUFFIX, readKeyFile, type RetiredKey, type SigningKey, type StoredKey } from './key-file.ts'
import { flushDirectory } from './write-file.ts'

const DIRECTORY_MODE = 0o700

/** Whoever may write here can put a key of their own in place. */
const WRITABLE_BY_OTHERS_MASK = 0o022

/**
 * The keys of a directory. `current` signs; `alsoSigning` holds the other private keys that an interrupted rotation
 * (or two at once) left, newest first; `retired` is latest retired first.
 */
export type DirectoryKeys = {
  readonly current: SigningKey | undefined
  readonly alsoSigning: readonly SigningKey[]
  readonly retired: readonly RetiredKey[]
}

/** Makes the directory with mode 0700 when it is missing. */
export async function makeDirectory(directory: string): Promise<void> {
  await attempt(directory, 'cannot be made', async () => {
    const made = await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE })
    if (made !== undefined) await flushDirectory(dirname(made))
  })
}

/**
 * Reads every key file; other files are none of our business. A missing directory holds no keys.
 * @throws KeyError when the directory or any key file breaks a rule: no key is left out silently
 */
export async function readDirectory(directory: string): Promise<DirectoryKeys> {
  const keys: StoredKey[] = []
  for (const name of await keyFileNames(directory)) keys.push(await readKeyFile(join(directory, name)))
  return sortKeys(keys)
}

/** The key with the greatest `iat` signs; between equals, the one whose kid comes first. */
function sortKeys(keys: readonly StoredKey[]): DirectoryKeys {
  const signing = keys.filter((key) => 'privateKey' in key)
  const [current, ...alsoSigning] = signing.toSorted((a, b) => b.madeAtSeconds - a.madeAtSeconds || byKid(a, b))
  const retired = keys.filter((key) => 'retiredAtSeconds' in key)
  return {
    current,
    alsoSigning,
    retired: retired.toSorted((a, b) => b.retiredAtSeconds - a.retiredAtSeconds || byKid(a, b)),
  }
}

function byKid(a: StoredKey, b: StoredKey): number {
  return a.publicJwk.kid < b.publicJwk.kid ? -1 : 1
}

async function keyFileNames(directory: string): Promise<string[]> {
  const names = await attempt(directory, 'cannot be read as a directory', () => listDirectory(directory))
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
  if ((mode & WRITABLE_BY_OTHERS_MASK) !== 0) {
    refuse(
      directory,
      `has mode 0${(mode & 0o777).toString(8)} and must be writable by its owner only: run chmod 700 on it`,
    )
  }
  return await readdir(directory)
}
