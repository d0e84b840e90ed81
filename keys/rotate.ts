/**
 * Replaces the signing key, so that a crash at any point leaves a directory that still signs and still verifies.
 *
 *   1. read every key: a rotation starts only from a directory that keeps all the rules
 *   2. make the new private key; from here on the newest signs and every older one is published
 *   3. overwrite each private key seen in step 1 by its public part, with the time: it can never sign again
 *   4. delete retired keys whose time is over, and unfinished files
 *
 * A crash between 2 and 3 leaves several private keys; they stay valid, and the next rotation retires them. Step 3 takes
 * only keys seen before step 2, so that two rotations at once cannot retire each other's new key.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readDirectory } from './directory.ts'
import { attempt, refuse } from './errors.ts'
import { generateKey, nowInSeconds, type Clock } from './generate.ts'
import { isPublished } from './keyring.ts'
import { KEY_FILE_SUFFIX, keyFilePath, writeKeyFile, type RetiredKey, type SigningKey } from './key-file.ts'
import { flushDirectory, UNFINISHED_SUFFIX } from './write-file.ts'

/** What a rotation did, by kid. */
export type Rotation = {
  readonly made: string
  readonly retired: readonly string[]
  readonly removed: readonly string[]
}

/**
 * Makes a new signing key, retires the old one and removes retired keys after their time.
 * @param options.now milliseconds since 1970
 * @throws KeyError when there is no key to replace, a rule is broken or a file cannot be written
 */
export async function rotateKeys(options: { directory: string; now: Clock }): Promise<Rotation> {
  const { directory, now } = options
  const { current, alsoSigning, retired } = await readDirectory(directory)
  if (current === undefined) return refuse(directory, 'holds no key to replace: run the command keys generate')
  const made = await generateKey(options)
  const old = [current, ...alsoSigning]
  for (const key of old) await retireKey(directory, key, nowInSeconds(now))
  const over = retired.filter((key) => !isPublished(key, nowInSeconds(now)))
  await removeFiles(directory, over)
  return { made: made.publicJwk.kid, retired: old.map(kidOf), removed: over.map(kidOf) }
}

async function retireKey(directory: string, key: SigningKey, atSeconds: number): Promise<void> {
  await writeKeyFile(directory, { ...key.publicJwk, iat: key.madeAtSeconds, retired_at: atSeconds })
}

async function removeFiles(directory: string, keys: readonly RetiredKey[]): Promise<void> {
  await attempt(directory, 'cannot be cleared of old keys', async () => {
    const unfinished = (await readdir(directory)).filter(
      (name) => name.includes(KEY_FILE_SUFFIX) && name.endsWith(UNFINISHED_SUFFIX),
    )
    const paths = [
      ...keys.map((key) => keyFilePath(directory, kidOf(key))),
      ...unfinished.map((name) => join(directory, name)),
    ]
    for (const path of paths) await rm(path, { force: true })
    await flushDirectory(directory)
  })
}

function kidOf(key: SigningKey | RetiredKey): string {
  return key.publicJwk.kid
}
