/**
 * The key files of a machine. A file has one private ES256 key as a JWK (RFC 7517) and is named after its RFC 7638
 * thumbprint: `<kid>.jwk.json`.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { constants } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK } from 'jose'
import * as z from 'zod'
import { ifMissing } from '../base/error-code.ts'
import { parseJson } from '../base/read-body.ts'
import { writeFileAtomically } from '../store/files/atomic-file.ts'
import { checkPrivateDirectory, makePrivateDirectory, readPrivateFile } from '../store/files/private-files.ts'

/** A key file has about 300 bytes. */
const KEY_FILE_BYTES_MAX = 4096

const KEY_FILE_SUFFIX = '.jwk.json'

/** The end of the year 9999. Later years have more than the four digits of ISO 8601. */
const SECONDS_MAX = 253_402_300_799

/** 32 bytes in base64url. The unused bits of the last character must be zero (RFC 4648 section 3.5). */
const coordinate = z.string().regex(/^[\w-]{42}[AEIMQUYcgkosw048]$/)

/** Parsing drops other members, so that no other member can be published. */
const publicSchema = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: coordinate,
  y: coordinate,
  kid: z.string(),
  use: z.literal('sig'),
  alg: z.literal('ES256'),
})

const keyFileSchema = publicSchema.extend({ d: coordinate, iat: z.int().nonnegative().max(SECONDS_MAX) })

/** Times are seconds since 1970, in UTC. */
interface StoredKey {
  readonly publicJwk: z.infer<typeof publicSchema>
  readonly madeAtSeconds: number
  readonly privateKey: KeyObject
}

/**
 * A key file or the directory breaks a rule. The message is one line that names both. Neither the message nor the cause
 * contains key material.
 */
class KeyError extends Error {
  override readonly name = 'KeyError'
}

/** Throws a KeyError about `path`. The path is quoted as JSON, which keeps the message on one line. */
export function throwKeyError(path: string, rule: string): never {
  throw new KeyError(`${JSON.stringify(path)} ${rule}`)
}

/** Whole seconds since 1970, the unit of the times in key files. `now` returns milliseconds, as `Date.now` does. */
export function nowInSeconds(now: () => number): number {
  return Math.floor(now() / 1000)
}

/**
 * Reads every key file, newest key first, and ignores other files. A missing directory has no keys.
 * @throws if the directory or any key file breaks a rule, so that no key is left out silently
 */
export async function readDirectory(directory: string): Promise<StoredKey[]> {
  await checkPrivateDirectory(directory)
  const names = (await readdir(directory).catch(ifMissing(undefined))) ?? []
  const keys: StoredKey[] = []
  // In the order of their kids, which stays for keys of the same second.
  for (const name of names.filter((each) => each.endsWith(KEY_FILE_SUFFIX)).toSorted())
    keys.push(await readKeyFile(join(directory, name)))
  return keys.toSorted((a, b) => b.madeAtSeconds - a.madeAtSeconds)
}

async function readKeyFile(path: string): Promise<StoredKey> {
  const parsed = keyFileSchema.safeParse(parseJson(readText(path)) ?? throwKeyError(path, 'is not JSON'))
  if (!parsed.success)
    throwKeyError(path, `is not an ES256 key: it has a wrong ${String(parsed.error.issues[0]?.path[0])}`)
  const { d, iat: madeAtSeconds } = parsed.data
  const publicJwk = publicSchema.parse(parsed.data)
  const thumbprint = await calculateJwkThumbprint(publicJwk)
  if (publicJwk.kid !== thumbprint || basename(path) !== `${thumbprint}${KEY_FILE_SUFFIX}`)
    throwKeyError(path, `must have its RFC 7638 thumbprint ${thumbprint} as its kid and in its name`)
  const jwk = { ...publicJwk, d }
  // Web Crypto checks that the point is on the curve and that the private part matches it.
  await importJWK(jwk, 'ES256').catch(() => throwKeyError(path, 'has x, y and d that do not belong together'))
  return { publicJwk, madeAtSeconds, privateKey: createPrivateKey({ key: jwk, format: 'jwk' }) }
}

/** Follows no symbolic link. */
function readText(path: string): string {
  const file = readPrivateFile(path, KEY_FILE_BYTES_MAX + 1, constants.O_NOFOLLOW)
  if (file.kind === 'unreadable') throwKeyError(path, 'must be a regular file that can be read, and no symbolic link')
  if (file.kind === 'open')
    throwKeyError(path, `must be accessible to its owner only: run chmod 600 ${JSON.stringify(path)}`)
  if (file.text.length > KEY_FILE_BYTES_MAX) throwKeyError(path, `is larger than ${KEY_FILE_BYTES_MAX} bytes`)
  return file.text
}

/** Creates a key, and the directory if it is missing, and reads the key back from its file. */
export async function generateKey({ directory, now }: { directory: string; now: () => number }): Promise<StoredKey> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const { x = '', y = '', d = '' } = await exportJWK(privateKey)
  const publicKey = { kty: 'EC', crv: 'P-256', x, y } as const
  const kid = await calculateJwkThumbprint(publicKey)
  await makePrivateDirectory(directory)
  const path = join(directory, `${kid}${KEY_FILE_SUFFIX}`)
  const content = { ...publicKey, d, kid, use: 'sig', alg: 'ES256', iat: nowInSeconds(now) }
  await writeFileAtomically(path, `${JSON.stringify(content)}\n`)
  return readKeyFile(path)
}
