/** Opens the key directory: one key that signs, and every public key by which a signature of ours may still be checked. */
import type { CryptoKey } from 'jose'
import { makeDirectory, readDirectory, type DirectoryKeys } from './directory.ts'
import { refuse } from './errors.ts'
import { generateKey, nowInSeconds, type Clock } from './generate.ts'
import type { PublicJwk, RetiredKey } from './key-file.ts'

/** A retired key stays published for 30 days: far longer than any cache keeps a card (an hour), and easy to remember. */
export const RETIRED_KEY_SECONDS_MIN = 30 * 24 * 60 * 60

/** `publicKeys` starts with the key of `kid`. The private key cannot be exported. */
export type Keyring = {
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly publicKeys: readonly PublicJwk[]
}

/**
 * Opens the keys of a directory; with `generateIfEmpty` a directory without any key gets its first one.
 * @param options.now milliseconds since 1970; decides which retired keys are still published
 * @throws KeyError when there is no key to sign with, or when the directory or any key file breaks a rule
 */
export async function openKeyring(options: {
  directory: string
  now: Clock
  generateIfEmpty: boolean
}): Promise<Keyring> {
  const { directory, now } = options
  let keys = await readDirectory(directory)
  if (options.generateIfEmpty && isEmpty(keys)) {
    await makeDirectory(directory)
    await generateKey({ directory, now })
    keys = await readDirectory(directory)
  }
  return toKeyring(directory, keys, nowInSeconds(now))
}

/** Whether a retired key is still in the JWKS: through its last second, since times are cut to whole seconds. */
export function isPublished(key: RetiredKey, atSeconds: number): boolean {
  return atSeconds - key.retiredAtSeconds <= RETIRED_KEY_SECONDS_MIN
}

function toKeyring(directory: string, keys: DirectoryKeys, atSeconds: number): Keyring {
  const { current, alsoSigning, retired } = keys
  if (current === undefined) return refuse(directory, 'holds no key to sign with: run the command keys generate')
  const published = [current, ...alsoSigning, ...retired.filter((key) => isPublished(key, atSeconds))]
  return {
    kid: current.publicJwk.kid,
    privateKey: current.privateKey,
    publicKeys: published.map((key) => key.publicJwk),
  }
}

function isEmpty(keys: DirectoryKeys): boolean {
  return keys.current === undefined && keys.retired.length === 0
}
