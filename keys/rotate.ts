/**
 * Adds the next signing key. A crash at any point leaves a directory that can still sign and verify.
 *
 *   1. read and check every key
 *   2. create the new private key. A running service publishes it, and signs with it an hour later
 *   3. overwrite each superseded private key with its public part and the time of retirement
 *   4. delete keys that are no longer published, and temporary files
 *
 * The key that signs now keeps its private part until the next rotation, because it still signs for an hour.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory, UNFINISHED_SUFFIX } from '../store/atomic-file.ts'
import { readDirectory } from './directory.ts'
import { throwKeyError, withKeyError } from './errors.ts'
import { generateKey, nowInSeconds, type Clock } from './generate.ts'
import { KEY_FILE_SUFFIX, keyFilePath, writeKeyFile, type SigningKey } from './key-file.ts'
import { isPublished, keyStates, type SupersededKey } from './lifecycle.ts'

/** The new key, and the kids of the keys that a rotation retired and removed. */
export type Rotation = {
  readonly made: SigningKey
  readonly retired: readonly string[]
  readonly removed: readonly string[]
}

/**
 * Creates a new key, erases the private parts of superseded keys and removes keys that are no longer published.
 * @param options.now milliseconds since 1970
 * @throws KeyError if there is no key to replace, a rule is broken or a file cannot be written
 */
export async function rotateKeys(options: { directory: string; now: Clock }): Promise<Rotation> {
  const { directory, now } = options
  const atSeconds = nowInSeconds(now)
  const keys = await readDirectory(directory)
  const { current, superseded, retired } = keyStates(keys, atSeconds)
  if (current === undefined) return throwKeyError(directory, 'has no key to replace: run the command keys generate')
  // Later than every other key, also within one second or after the clock was set back, so that it is the next to sign.
  const madeAtSeconds = Math.max(atSeconds, ...keys.signing.map((key) => key.madeAtSeconds + 1))
  const made = await generateKey({ directory, now: () => madeAtSeconds * 1000 })
  for (const key of superseded) await retireKey(directory, key)
  const expired = [
    ...superseded.filter((each) => !isPublished(each, atSeconds)).map(({ key }) => key),
    ...retired.filter((key) => !isPublished(key, atSeconds)),
  ].map((key) => key.publicJwk.kid)
  await removeFiles(directory, expired)
  return { made, retired: superseded.map(({ key }) => key.publicJwk.kid), removed: expired }
}

async function retireKey(directory: string, { key, retiredAtSeconds }: SupersededKey): Promise<void> {
  await writeKeyFile(directory, { ...key.publicJwk, iat: key.madeAtSeconds, retired_at: retiredAtSeconds })
}

async function removeFiles(directory: string, kids: readonly string[]): Promise<void> {
  await withKeyError(directory, 'has old key files that cannot be removed', async () => {
    const unfinished = (await readdir(directory)).filter(
      (name) => name.includes(KEY_FILE_SUFFIX) && name.endsWith(UNFINISHED_SUFFIX),
    )
    const paths = [
      ...kids.map((kid) => keyFilePath(directory, kid)),
      ...unfinished.map((name) => join(directory, name)),
    ]
    for (const path of paths) await rm(path, { force: true })
    await syncDirectory(directory)
  })
}
