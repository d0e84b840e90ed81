/**
 * One key in one file: every rule that a key file must keep, and the form in which it is written.
 *
 * A file holds one ES256 key as a JWK (RFC 7517) and is named after its RFC 7638 thumbprint: `<kid>.jwk.json`.
 * A signing key has its private part `d`. A retired key has lost it for good and says since when in `retired_at`.
 */
import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { calculateJwkThumbprint, importJWK, type CryptoKey } from 'jose'
import { z } from 'zod'
import { attempt, refuse } from './errors.ts'
import { writeFileAtomically } from './write-file.ts'

/** A key file is about 300 bytes; anything above this is something else. */
const KEY_FILE_BYTES_MAX = 4096

export const KEY_FILE_SUFFIX = '.jwk.json'

/** The end of the year 9999, the last that prints with four digits. */
const SECONDS_MAX = 253_402_300_799

/** Any permission of group or others. */
const OPEN_TO_OTHERS_MASK = 0o077

/** The only bytes of a key that are ever published. */
export type PublicJwk = {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
  readonly kid: string
  readonly use: 'sig'
  readonly alg: 'ES256'
}

/** A key that can sign. `madeAtSeconds` counts from 1970, in UTC. */
export type SigningKey = {
  readonly publicJwk: PublicJwk
  readonly madeAtSeconds: number
  readonly privateKey: CryptoKey
}

/** A key that only verifies. Both times count in seconds from 1970, in UTC. */
export type RetiredKey = {
  readonly publicJwk: PublicJwk
  readonly madeAtSeconds: number
  readonly retiredAtSeconds: number
}

export type StoredKey = SigningKey | RetiredKey

/** 32 bytes in base64url, in the one spelling whose spare bits are zero (RFC 4648 section 3.5). */
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
    retired_at: seconds('retired_at').optional(),
  },
  'is not a JSON object',
)

/** The members of a key file, as written. */
export type KeyFileContent = z.infer<typeof keyFileSchema>

/** The path of a key's file. */
export function keyFilePath(directory: string, kid: string): string {
  return join(directory, `${kid}${KEY_FILE_SUFFIX}`)
}

/**
 * Reads one key file and checks every rule.
 * @throws KeyError when the file or its content breaks one
 */
export async function readKeyFile(path: string): Promise<StoredKey> {
  const content = parseContent(path, await readPrivateFile(path))
  await checkNames(path, content)
  const key = await importKey(path, content)
  const publicJwk = publicPart(content)
  if (content.retired_at !== undefined) {
    if (content.d !== undefined) refuse(path, 'is retired and still has a private part')
    return { publicJwk, madeAtSeconds: content.iat, retiredAtSeconds: content.retired_at }
  }
  if (content.d === undefined) refuse(path, 'has no private part and does not say when it was retired')
  return { publicJwk, madeAtSeconds: content.iat, privateKey: key }
}

/** Writes one key file, whole or not at all, readable by its owner only. */
export async function writeKeyFile(directory: string, content: KeyFileContent): Promise<void> {
  await writeFileAtomically(keyFilePath(directory, content.kid), `${JSON.stringify(content)}\n`)
}

/** The public members, picked one by one: a member that is not named here is never published. */
export function publicPart(jwk: PublicJwk): PublicJwk {
  const { kty, crv, x, y, kid, use, alg } = jwk
  return { kty, crv, x, y, kid, use, alg }
}

/** Opens without following a link or waiting on a pipe, and checks the opened file itself rather than its name. */
async function readPrivateFile(path: string): Promise<string> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await attempt(path, 'cannot be opened as a regular file, links not followed', () => open(path, flags))
  try {
    return await attempt(path, 'cannot be read', () => readChecked(path, file))
  } finally {
    await file.close()
  }
}

async function readChecked(path: string, file: FileHandle): Promise<string> {
  const stats = await file.stat()
  const { mode, size } = stats
  if (!stats.isFile()) refuse(path, 'is not a regular file')
  if ((mode & OPEN_TO_OTHERS_MASK) !== 0) {
    refuse(path, `has mode 0${(mode & 0o777).toString(8)} and must be open to its owner only: run chmod 600 on it`)
  }
  if (size > KEY_FILE_BYTES_MAX) refuse(path, `is larger than ${KEY_FILE_BYTES_MAX} bytes`)
  return await file.readFile('utf8')
}

function parseContent(path: string, text: string): KeyFileContent {
  const parsed = keyFileSchema.safeParse(parseJson(path, text))
  if (parsed.success) return parsed.data
  return refuse(path, parsed.error.issues[0]?.message ?? 'is not a key', parsed.error)
}

/** The parser's own error quotes the text around the fault, which may be the private part, so it is not the cause. */
function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return refuse(
      path,
      'is not JSON',
      new SyntaxError('not JSON; the text is withheld since it may hold a private key'),
    )
  }
}

async function checkNames(path: string, content: KeyFileContent): Promise<void> {
  const thumbprint = await calculateJwkThumbprint(publicPart(content))
  if (content.kid !== thumbprint) refuse(path, `has a kid that is not its RFC 7638 thumbprint ${thumbprint}`)
  if (basename(path) !== `${thumbprint}${KEY_FILE_SUFFIX}`) refuse(path, `is not named after its kid ${thumbprint}`)
}

/** Imports the key; the runtime checks that the point is on the curve and that the private part belongs to it. */
async function importKey(path: string, content: KeyFileContent): Promise<CryptoKey> {
  const { d } = content
  const jwk = d === undefined ? publicPart(content) : { ...publicPart(content), d }
  try {
    return await importJWK(jwk, 'ES256')
  } catch (cause) {
    const rule = d === undefined ? 'is not a point on P-256' : 'has a private part that does not match its public part'
    return refuse(path, rule, cause)
  }
}
