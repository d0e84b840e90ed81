/**
 * Which key signs, and which keys are published. The private keys are in the key directory of each machine. The public
 * keys of all machines, and which of them are compromised, are in the response log (docs/decisions.md, D118).
 */
import { announceKey, readPublicKeys, type AnnouncedKey } from '../store/log/public-keys.ts'
import type { ResponseLog } from '../store/log/responses.ts'
import { generateKey, nowInSeconds, readDirectory, throwKeyError } from './key-files.ts'

/**
 * How long a new key is published before it signs. Caches keep the key set for a minute, and libraries that verify
 * cards keep it for ten minutes or more.
 */
export const KEY_LEAD_SECONDS = 60 * 60

/** Every running machine reads the keys of the log once a minute, and publishes a new one after at most two. */
export const KEYS_REFRESH_MS = 60_000
export const PUBLISHED_MS = 2 * KEYS_REFRESH_MS

type KeyLog = Pick<ResponseLog, 'document'>
type StoredKey = Awaited<ReturnType<typeof readDirectory>>[number]
/** By kid, first announced first. */
type AnnouncedKeys = ReadonlyMap<string, AnnouncedKey>

interface KeyringOptions {
  directory: string
  log: KeyLog
  /** Milliseconds since 1970. */
  now: () => number
  /** The key that signed until now. Without one, the first key of a directory without keys is created. */
  previous?: string
}

export type Keyring = Awaited<ReturnType<typeof openKeyring>>

/**
 * Announces the keys of the directory in the log, and selects the one that signs. Creates a key if the directory has
 * none, or if none may sign because of compromised keys.
 * @throws if the directory or any key file breaks a rule, or the previous key is lost
 */
export async function openKeyring({ directory, log, now, previous }: KeyringOptions) {
  let own = await readDirectory(directory)
  if (previous !== undefined && !own.some(({ publicJwk }) => publicJwk.kid === previous))
    throwKeyError(directory, `lacks the key ${previous}, which signs: restore its file, or start again with a new key`)
  let announced = await announceKeys(log, own)
  let signer = selectSigner(own, announced, now())
  if (!signer) {
    await generateKey({ directory, now })
    own = await readDirectory(directory)
    announced = await announceKeys(log, own)
    signer = selectSigner(own, announced, now()) ?? throwKeyError(directory, 'has no key that may sign')
  }
  const { kid } = signer.publicJwk
  return {
    kid,
    privateKey: signer.privateKey,
    /** Until every other machine publishes the key. 0 if this directory has all keys. */
    unpublishedMs: hasForeignKey(own, announced) ? remainingMs(announced.get(kid), now()) : 0,
    /** The body of `/.well-known/jwks.json`, a JWK Set (RFC 7517 section 5) with the member `compromised`. */
    keySet: keySetOf(kid, announced),
  }
}

/** Adds the keys that the log lacks. Returns all keys of the log. */
export async function announceKeys(log: KeyLog, own: readonly StoredKey[]): Promise<AnnouncedKeys> {
  const read = async () => new Map((await readPublicKeys(log)).map((key) => [key.kid, key]))
  const known = await read()
  for (const { publicJwk } of own.toReversed())
    if (!known.has(publicJwk.kid)) await announceKey(log, { kid: publicJwk.kid, jwk: publicJwk, compromised_at: null })
  return read()
}

/**
 * The newest key that is old enough and published by every machine, or else the oldest one. If it is compromised, the
 * oldest newer one signs at once. A key that was replaced never signs again.
 */
export function selectSigner(own: readonly StoredKey[], announced: AnnouncedKeys, atMs: number): StoredKey | undefined {
  const isOld = (key: StoredKey) => signsFromSeconds(key) <= nowInSeconds(() => atMs)
  const isPublished = ({ publicJwk }: StoredKey) => remainingMs(announced.get(publicJwk.kid), atMs) === 0
  // With a new log, all keys of the directory are announced at once.
  const newest = own.find((key) => isOld(key) && isPublished(key)) ?? own.find(isOld) ?? own.at(-1)
  const candidates = newest ? own.slice(0, own.indexOf(newest) + 1) : []
  return candidates.findLast(({ publicJwk }) => announced.get(publicJwk.kid)?.compromised_at === null)
}

/** Formats seconds since 1970 as UTC without fractions. */
export function toIsoTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

export function signsFromSeconds(key: StoredKey): number {
  return key.madeAtSeconds + KEY_LEAD_SECONDS
}

/** At most PUBLISHED_MS, because the clock of the log can be ahead. */
function remainingMs(key: AnnouncedKey | undefined, atMs: number): number {
  const publishedAtMs = Date.parse(key?.announced_at ?? toIsoTime(0)) + PUBLISHED_MS
  return Math.min(Math.max(publishedAtMs - atMs, 0), PUBLISHED_MS)
}

function hasForeignKey(own: readonly StoredKey[], announced: AnnouncedKeys): boolean {
  const kids = new Set(own.map(({ publicJwk }) => publicJwk.kid))
  return [...announced.values()].some(({ kid, compromised_at }) => compromised_at === null && !kids.has(kid))
}

/** The signing key comes first, then the newest. */
function keySetOf(signer: string, announced: AnnouncedKeys) {
  const all = [...announced.values()].toReversed()
  const valid = all.filter(({ compromised_at }) => compromised_at === null)
  const compromised = all.flatMap(({ kid, compromised_at }) => (compromised_at === null ? [] : { kid, compromised_at }))
  const [first, others] = [valid.filter(({ kid }) => kid === signer), valid.filter(({ kid }) => kid !== signer)]
  return { keys: [...first, ...others].map(({ jwk }) => jwk), compromised }
}
