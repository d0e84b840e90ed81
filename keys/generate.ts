/** Creates an ES256 key and writes it to its own file. */
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { makeDirectory } from './directory.ts'
import { keyFilePath, readKeyFile, writeKeyFile, type StoredKey } from './key-file.ts'

/** Whole seconds since 1970, the unit of the times in key files. `now` returns milliseconds, as `Date.now` does. */
export function nowInSeconds(now: () => number): number {
  return Math.floor(now() / 1000)
}

/** Formats seconds since 1970 as UTC without fractions. */
export function toIsoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

/**
 * Creates a key, and the directory if it is missing, and reads the key back from its file.
 * @throws KeyError if the file cannot be written or does not read back
 */
export async function generateKey({ directory, now }: { directory: string; now: () => number }): Promise<StoredKey> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const { x = '', y = '', d = '' } = await exportJWK(privateKey)
  const publicKey = { kty: 'EC', crv: 'P-256', x, y } as const
  const kid = await calculateJwkThumbprint(publicKey)
  await makeDirectory(directory)
  await writeKeyFile(directory, { ...publicKey, d, kid, use: 'sig', alg: 'ES256', iat: nowInSeconds(now) })
  return await readKeyFile(keyFilePath(directory, kid))
}
