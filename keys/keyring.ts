/** Opens the key directory: the key that signs, and every public key that may still be needed to verify a signature. */
import type { CryptoKey } from 'jose'
import { makeDirectory, readDirectory, type DirectoryKeys } from './directory.ts'
import { throwKeyError } from './errors.ts'
import { generateKey, nowInSeconds, type Clock } from './generate.ts'
import { publicPart, type PublicJwk, type RetiredKey } from './key-file.ts'

/** A retired key stays published for 30 days (contract 13.2). Caches keep an agent card for one hour. */
export const RETIRED_KEY_SECONDS_MIN = 30 * 24 * 60 * 60

export type Keyring = {
  /** The id of the signing key. */
  readonly kid: string
  /** Cannot be exported. */
  readonly privateKey: CryptoKey
  /** The signing key comes first. */
  readonly publicKeys: readonly PublicJwk[]
}

/**
 * Opens the keys of a directory. With `generateIfEmpty`, creates the first key in a directory without keys.
 * @param options.now milliseconds since 1970; determines which retired keys are still published
 * @throws KeyError if there is no signing key, or if the directory or any key file breaks a rule
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

/** Whether a retired key is still in the JWKS. The last second is included because times are truncated to seconds. */
export function isPublished(key: RetiredKey, atSeconds: number): boolean {
  return atSeconds - key.retiredAtSeconds <= RETIRED_KEY_SECONDS_MIN
}

function toKeyring(directory: string, keys: DirectoryKeys, atSeconds: number): Keyring {
  const { current, alsoSigning, retired } = keys
  if (current === undefined) return throwKeyError(directory, 'has no signing key: run the command keys generate')
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

/**
 * The body of `/.well-known/jwks.json`, a JWK Set (RFC 7517 section 5). The signing key comes first. Members are copied by
 * name, so no private member can be published.
 */
export function jwksBody({ publicKeys }: Pick<Keyring, 'publicKeys'>) {
  return { keys: publicKeys.map(publicPart) }
}

export type JwksBody = ReturnType<typeof jwksBody>
