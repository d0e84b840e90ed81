/**
 * Marks keys as compromised: their private parts are erased, and the key set lists them with the time instead of publishing
 * them. If no other private key is left, a new one is made first, so that a crash leaves a directory that can sign.
 */
import { readDirectory, type DirectoryKeys } from './directory.ts'
import { throwKeyError } from './errors.ts'
import { generateKey, nowInSeconds, type Clock } from './generate.ts'
import { writeKeyFile, type SigningKey, type StoredKey } from './key-file.ts'

/** The key that was made because none was left, if so. */
export type Compromise = { readonly made: SigningKey | undefined }

/**
 * @param options.now milliseconds since 1970
 * @throws KeyError if a kid is unknown or already marked, or if a file cannot be written
 */
export async function compromiseKeys(options: {
  directory: string
  kids: readonly string[]
  now: Clock
}): Promise<Compromise> {
  const { directory, kids, now } = options
  const keys = await readDirectory(directory)
  const marked = kids.map((kid) => findKey(directory, keys, kid))
  const hasOther = keys.signing.some((key) => !kids.includes(key.publicJwk.kid))
  const made = hasOther ? undefined : await generateKey({ directory, now })
  for (const { publicJwk, madeAtSeconds } of marked)
    await writeKeyFile(directory, { ...publicJwk, iat: madeAtSeconds, compromised_at: nowInSeconds(now) })
  return { made }
}

function findKey(directory: string, { signing, retired }: DirectoryKeys, kid: string): StoredKey {
  const key = [...signing, ...retired].find(({ publicJwk }) => publicJwk.kid === kid)
  return key ?? throwKeyError(directory, `has no key ${JSON.stringify(kid)} that is not marked yet`)
}
