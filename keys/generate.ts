/** Creates an ES256 key and writes it to its own file. */
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { KeyError } from './errors.ts'
import { keyFilePath, readKeyFile, writeKeyFile, type KeyFileContent, type SigningKey } from './key-file.ts'

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
  const content = await makeKey(nowInSeconds(options.now))
  await writeKeyFile(options.directory, content)
  const key = await readKeyFile(keyFilePath(options.directory, content.kid))
  if (key.kind !== 'signing') throw new KeyError(`the new key ${content.kid} was replaced while it was being written`)
  return key
}

async function makeKey(iat: number): Promise<KeyFileContent> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const { x = '', y = '', d = '' } = await exportJWK(privateKey)
  const kid = await calculateJwkThumbprint({ kty: 'EC', crv: 'P-256', x, y })
  return { kty: 'EC', crv: 'P-256', x, y, d, kid, use: 'sig', alg: 'ES256', iat }
}
