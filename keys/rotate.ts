/**
 * Replaces the signing key. A crash at any point leaves a directory that can still sign and verify.
 *
 *   1. read and check every key
 *   2. create the new private key; the newest key signs, all older ones stay published
 *   3. overwrite each private key that was read in step 1 with its public part and the time of retirement
 *   4. delete keys that were retired more than 30 days ago, and temporary files
 *
 * A crash between 2 and 3 leaves several private keys. They stay valid, and the next rotation retires them. Step 3
 * handles only keys from step 1, so concurrent rotations cannot retire each other's new key.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory, UNFINISHED_SUFFIX } from '../store/atomic-file.ts'
import { readDirectory } from './directory.ts'
import { throwKeyError, withKeyError } from './errors.ts'
import { generateKey, nowInSeconds, type Clock } from './generate.ts'
import { isPublished } from './keyring.ts'
import { KEY_FILE_SUFFIX, keyFilePath, writeKeyFile, type RetiredKey, type SigningKey } from './key-file.ts'

/** The kids of the keys that a rotation created, retired and removed. */
export type Rotation = {
  readonly made: string
  readonly retired: readonly string[]
  readonly removed: readonly string[]
}

/**
 * Creates a new signing key, retires the old one and removes retired keys that are no longer published.
 * @param options.now milliseconds since 1970
 * @throws KeyError if there is no key to replace, a rule is broken or a file cannot be written
 */
export async function rotateKeys(options: { directory: string; now: Clock }): Promise<Rotation> {
  const { directory, now } = options
  const { current, alsoSigning, retired } = await readDirectory(directory)
  if (current === undefined) return throwKeyError(directory, 'has no key to replace: run the command keys generate')
  const made = await generateKey(options)
  const old = [current, ...alsoSigning]
  for (const key of old) await retireKey(directory, key, nowInSeconds(now))
  const expired = retired.filter((key) => !isPublished(key, nowInSeconds(now)))
  await removeFiles(directory, expired)
  return { made: made.publicJwk.kid, retired: old.map(kidOf), removed: expired.map(kidOf) }
}

async function retireKey(directory: string, key: SigningKey, atSeconds: number): Promise<void> {
  await writeKeyFile(directory, { ...key.publicJwk, iat: key.madeAtSeconds, retired_at: atSeconds })
}

async function removeFiles(directory: string, keys: readonly RetiredKey[]): Promise<void> {
  await withKeyError(directory, 'has old key files that cannot be removed', async () => {
    const unfinished = (await readdir(directory)).filter(
      (name) => name.includes(KEY_FILE_SUFFIX) && name.endsWith(UNFINISHED_SUFFIX),
    )
    const paths = [
      ...keys.map((key) => keyFilePath(directory, kidOf(key))),
      ...unfinished.map((name) => join(directory, name)),
    ]
    for (const path of paths) await rm(path, { force: true })
    await syncDirectory(directory)
  })
}

function kidOf(key: SigningKey | RetiredKey): string {
  return key.publicJwk.kid
}
