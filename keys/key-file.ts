/**
 * Reads, checks and writes key files. A file has one ES256 key as a JWK (RFC 7517) and is named after its RFC 7638
 * thumbprint: `<kid>.jwk.json`. Earlier versions replaced the private member `d` by `retired_at` or `compromised_at`.
 */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { calculateJwkThumbprint, importJWK } from 'jose'
import * as z from 'zod'
import { writeFileAtomically } from '../store/files/atomic-file.ts'
import { readUpTo } from '../store/files/bounded-read.ts'
import { findOpenMode } from '../store/files/private-files.ts'
import { throwKeyError, withKeyError } from './errors.ts'

/** A key file has about 300 bytes. A larger file is not a key file. */
const KEY_FILE_BYTES_MAX = 4096

export const KEY_FILE_SUFFIX = '.jwk.json'

/** The end of the year 9999. Later years have more than the four digits of ISO 8601. */
const SECONDS_MAX = 253_402_300_799

/** Times are seconds since 1970, in UTC. */
export interface StoredKey {
  readonly publicJwk: PublicJwk
  readonly madeAtSeconds: number
  /** Undefined for a key that only verifies. */
  readonly privateKey: KeyObject | undefined
  /** In a file of an earlier version. Today the response log has this time. */
  readonly compromisedAtSeconds: number | undefined
}

/** 32 bytes in base64url. The unused bits of the last character must be zero (RFC 4648 section 3.5). */
const coordinate = (member: string) =>
  z.string(`lacks the text member "${member}"`).regex(/^[\w-]{42}[AEIMQUYcgkosw048]$/, {
    error: `has a member "${member}" that is not 32 bytes in base64url`,
  })

const seconds = (member: string) =>
  z
    .int(`lacks the member "${member}" in whole seconds`)
    .nonnegative(`has a negative "${member}"`)
    .max(SECONDS_MAX, `has a "${member}" after the year 9999, perhaps in milliseconds`)

const keyFileSchema = z.object(
  {
    kty: z.literal('EC', 'is not an EC key'),
    crv: z.literal('P-256', 'is not on the curve P-256'),
    x: coordinate('x'),
    y: coordinate('y'),
    d: coordinate('d').optional(),
    kid: z.string('lacks the text member "kid"'),
    use: z.literal('sig', 'does not say "use":"sig"'),
    alg: z.literal('ES256', 'does not say "alg":"ES256"'),
    iat: seconds('iat'),
    compromised_at: seconds('compromised_at').optional(),
  },
  'is not a JSON object',
)

/** The members of a key file. */
export type KeyFileContent = z.infer<typeof keyFileSchema>

/** The members of a key that are published. */
type PublicJwk = Readonly<Omit<KeyFileContent, 'd' | 'iat' | 'compromised_at'>>

export function keyFilePath(directory: string, kid: string): string {
  return join(directory, `${kid}${KEY_FILE_SUFFIX}`)
}

/**
 * Reads one key file.
 * @throws KeyError if the file or its content breaks a rule
 */
export async function readKeyFile(path: string): Promise<StoredKey> {
  const content = parseContent(path, await readPrivateFile(path))
  await checkNames(path, content)
  await checkKey(path, content)
  const publicJwk = publicPart(content)
  const { d, iat: madeAtSeconds, compromised_at: compromisedAtSeconds } = content
  if (d !== undefined && compromisedAtSeconds !== undefined)
    throwKeyError(path, 'has both a private part and the time of a compromise')
  const privateKey = d === undefined ? undefined : createPrivateKey({ key: { ...publicJwk, d }, format: 'jwk' })
  return { publicJwk, madeAtSeconds, privateKey, compromisedAtSeconds }
}

/** Writes one key file atomically. Only its owner may read it. */
export async function writeKeyFile(directory: string, content: KeyFileContent): Promise<void> {
  const path = keyFilePath(directory, content.kid)
  await withKeyError(path, 'cannot be written', () => writeFileAtomically(path, `${JSON.stringify(content)}\n`))
}

/** Copies the public members by name, so that no other member can be published. */
function publicPart(jwk: PublicJwk): PublicJwk {
  const { kty, crv, x, y, kid, use, alg } = jwk
  return { kty, crv, x, y, kid, use, alg }
}

/** Follows no symbolic link, does not block on a pipe, and checks the opened file instead of its name. */
async function readPrivateFile(path: string): Promise<string> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  await using file = await withKeyError(path, 'cannot be opened; it must be a regular file and no symbolic link', () =>
    open(path, flags),
  )
  return await withKeyError(path, 'cannot be read', () => readChecked(path, file))
}

async function readChecked(path: string, file: FileHandle): Promise<string> {
  const stats = await file.stat()
  if (!stats.isFile()) throwKeyError(path, 'is not a regular file')
  const fault = findOpenMode(stats.mode)
  if (fault !== undefined) throwKeyError(path, `${fault}: run chmod 600 ${JSON.stringify(path)}`)
  const bytes = await readUpTo(file, KEY_FILE_BYTES_MAX)
  return bytes?.toString() ?? throwKeyError(path, `is larger than ${KEY_FILE_BYTES_MAX} bytes`)
}

function parseContent(path: string, text: string): KeyFileContent {
  const parsed = keyFileSchema.safeParse(parseJson(path, text))
  if (parsed.success) return parsed.data
  return throwKeyError(path, parsed.error.issues[0]?.message ?? 'is not a key', parsed.error)
}

/** The parser's error is not kept as the cause: it quotes the text, which may be the private part. */
function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const cause = new SyntaxError('not JSON; the text is withheld because it may contain a private key')
    return throwKeyError(path, 'is not JSON', cause)
  }
}

async function checkNames(path: string, content: KeyFileContent): Promise<void> {
  const thumbprint = await calculateJwkThumbprint(publicPart(content))
  if (content.kid !== thumbprint) throwKeyError(path, `has a kid that is not its RFC 7638 thumbprint ${thumbprint}`)
  if (basename(path) !== `${thumbprint}${KEY_FILE_SUFFIX}`)
    throwKeyError(path, `is not named after its kid ${thumbprint}`)
}

/** Web Crypto checks that the point is on the curve and that the private part matches it. */
async function checkKey(path: string, content: KeyFileContent): Promise<void> {
  const { d } = content
  const jwk = d === undefined ? publicPart(content) : { ...publicPart(content), d }
  try {
    await importJWK(jwk, 'ES256')
  } catch (cause) {
    const rule = d === undefined ? 'is not a point on P-256' : 'has a private part that does not match its public part'
    throwKeyError(path, rule, cause)
  }
}
