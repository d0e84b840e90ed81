/**
 * Adds the next signing key. A crash at any point leaves a directory that can still sign and verify.
 *
 *   1. take the lock; read and check every key
 *   2. create the new private key. A running service publishes it, and signs with it an hour later
 *   3. overwrite each superseded private key with its public part and the time of retirement
 *   4. delete temporary files
 *
 * The key that signs now keeps its private part until the next rotation, because it still signs for an hour.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncDirectory, UNFINISHED_SUFFIX } from '../store/files/atomic-file.ts'
import type { DirectoryKeys } from './directory.ts'
import { throwKeyError, withKeyError } from './errors.ts'
import { generateKey, nowInSeconds, toIsoTime } from './generate.ts'
import { KEY_FILE_SUFFIX } from './key-file.ts'
import { keyStates, retireKey, ROTATION_SECONDS_MIN } from './lifecycle.ts'
import { changeKeys } from './lock.ts'

interface RotationOptions {
  directory: string
  /** Milliseconds since 1970. */
  now: () => number
}

/**
 * Creates a new key and erases the private parts of superseded keys. Returns the key and the kids of those.
 * @throws KeyError if there is no key to replace, the newest key is younger than a week, a rule is broken or a file
 * cannot be written
 */
export function rotateKeys(options: RotationOptions) {
  return changeKeys(options.directory, (keys) => rotate(options, keys))
}

async function rotate({ directory, now }: RotationOptions, keys: DirectoryKeys) {
  const atSeconds = nowInSeconds(now)
  const { current, superseded } = keyStates(keys, atSeconds)
  if (current === undefined) return throwKeyError(directory, 'has no key to replace: run the command keys generate')
  const newest = Math.max(...keys.signing.map((key) => key.madeAtSeconds))
  if (atSeconds < newest + ROTATION_SECONDS_MIN) {
    const next = toIsoTime(newest + ROTATION_SECONDS_MIN)
    return throwKeyError(directory, `has a key of ${toIsoTime(newest)}: the next rotation is possible at ${next}`)
  }
  const made = await generateKey({ directory, now })
  for (const key of superseded) await retireKey(directory, key)
  await removeUnfinished(directory)
  return { made, retired: superseded.map(({ key }) => key.publicJwk.kid) }
}

async function removeUnfinished(directory: string): Promise<void> {
  await withKeyError(directory, 'has temporary files that cannot be removed', async () => {
    const unfinished = (await readdir(directory)).filter(
      (name) => name.includes(KEY_FILE_SUFFIX) && name.endsWith(UNFINISHED_SUFFIX),
    )
    for (const name of unfinished) await rm(join(directory, name), { force: true })
    await syncDirectory(directory)
  })
}
