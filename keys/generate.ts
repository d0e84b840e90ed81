/** Creates an ES256 key and writes it to its own file. */
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { KeyError } from './errors.ts'
import { keyFilePath, readKeyFile, writeKeyFile, type SigningKey } from './key-file.ts'

/** Whole seconds since 1970, the unit of the times in key files. `now` returns milliseconds, as `Date.now` does. */
export function nowInSeconds(now: () => number): number {
  return Math.floor(now() / 1000)
}

/** Formats seconds since 1970 as UTC without fractions. */
export function toIsoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

/**
 * Creates a key in an existing directory and reads it back from its file.
 * @throws KeyError if the file cannot be written or does not read back as a signing key
 */
export async function generateKey(options: { directory: string; now: () => number }): Promise<SigningKey> {
  const { directory, now } = options
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const { x = '', y = '', d = '' } = await exportJWK(privateKey)
  const publicKey = { kty: 'EC', crv: 'P-256', x, y } as const
  const kid = await calculateJwkThumbprint(publicKey)
  await writeKeyFile(directory, { ...publicKey, d, kid, use: 'sig', alg: 'ES256', iat: nowInSeconds(now) })
  const key = await readKeyFile(keyFilePath(directory, kid))
  if (key.kind !== 'signing') throw new KeyError(`the new key ${kid} was replaced while it was being written`)
  return key
}
