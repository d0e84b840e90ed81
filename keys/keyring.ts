/** Opens the key directory: the key that signs, and every public key that may be needed to verify a signature. */
import { makeDirectory, readDirectory, type DirectoryKeys } from './directory.ts'
import { throwKeyError } from './errors.ts'
import { generateKey, nowInSeconds, toIsoTime } from './generate.ts'
import { keyStates, publishedKeys } from './lifecycle.ts'
import { changeKeys } from './lock.ts'

export type Keyring = Awaited<ReturnType<typeof openKeyring>>

/**
 * Opens the keys of a directory. With `generateIfEmpty`, creates the first key in a directory without keys.
 * @param options.now milliseconds since 1970; determines which key signs and which keys are published
 * @throws KeyError if there is no signing key, or if the directory or any key file breaks a rule
 */
export async function openKeyring(options: { directory: string; now: () => number; generateIfEmpty: boolean }) {
  const { directory, now } = options
  let keys = await readDirectory(directory)
  if (options.generateIfEmpty && isEmpty(keys)) {
    await makeDirectory(directory)
    await changeKeys(directory, async (present) => {
      // Another process may have created the first key in the meantime.
      if (isEmpty(present)) await generateKey({ directory, now })
    })
    keys = await readDirectory(directory)
  }
  const states = keyStates(keys, nowInSeconds(now))
  const { current } = states
  if (current === undefined) return throwKeyError(directory, 'has no signing key: run the command keys generate')
  return {
    kid: current.publicJwk.kid,
    privateKey: current.privateKey,
    /** The signing key comes first. */
    publicKeys: publishedKeys(states),
    compromisedKeys: keys.compromised,
  }
}

function isEmpty({ signing, retired, compromised }: DirectoryKeys): boolean {
  return signing.length + retired.length + compromised.length === 0
}

/** The body of `/.well-known/jwks.json`, a JWK Set (RFC 7517 section 5) with the member `compromised`. */
export function jwksBody({ publicKeys, compromisedKeys }: Pick<Keyring, 'publicKeys' | 'compromisedKeys'>) {
  const compromised = compromisedKeys.map(({ publicJwk, compromisedAtSeconds }) => ({
    kid: publicJwk.kid,
    compromised_at: toIsoTime(compromisedAtSeconds),
  }))
  return { keys: publicKeys, compromised }
}
