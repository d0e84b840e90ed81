/**
 * The states of a key: it is published, signs an hour later, is superseded when the next key begins to sign, and stays
 * in the key set permanently, because receipts are verified years later. Only a compromised key is removed. The states
 * follow from the times in the key files and the clock.
 */
import type { DirectoryKeys } from './directory.ts'
import { writeKeyFile, type SigningKey } from './key-file.ts'

/**
 * How long a new key is published before it signs. A running service publishes it within a minute, caches keep the key
 * set for a minute, and libraries that verify cards keep it for ten minutes or more.
 */
export const KEY_LEAD_SECONDS = 60 * 60

/** Bounds the key set, which keeps every key: at most 53 keys of 210 bytes a year. */
export const ROTATION_SECONDS_MIN = 7 * 24 * 60 * 60

type KeyStates = ReturnType<typeof keyStates>

/**
 * The signing key is the newest one that has been published long enough, or else the oldest one. Pending keys will sign
 * later. Superseded ones no longer sign, and have the time at which the next key began to. All are newest first.
 */
export function keyStates({ signing, retired }: Pick<DirectoryKeys, 'signing' | 'retired'>, atSeconds: number) {
  const isReady = signing.map((key) => signsFromSeconds(key) <= atSeconds)
  const at = isReady.includes(true) ? isReady.indexOf(true) : signing.length - 1
  const superseded = signing.slice(at + 1).map((key, older) => {
    const next = signing[at + older] ?? key
    return { key, retiredAtSeconds: signsFromSeconds(next) }
  })
  return { current: signing[at], pending: signing.slice(0, Math.max(at, 0)), superseded, retired }
}

/** Erases the private part of a superseded key. The file keeps the public part and gets the time of retirement. */
export async function retireKey(
  directory: string,
  { key, retiredAtSeconds }: KeyStates['superseded'][number],
): Promise<void> {
  await writeKeyFile(directory, { ...key.publicJwk, iat: key.madeAtSeconds, retired_at: retiredAtSeconds })
}

export function signsFromSeconds(key: SigningKey): number {
  return key.madeAtSeconds + KEY_LEAD_SECONDS
}

/** All keys of the JWKS. The signing key comes first. */
export function publishedKeys({ current, pending, superseded, retired }: KeyStates): SigningKey['publicJwk'][] {
  const keys = [...(current ? [current] : []), ...pending, ...superseded.map(({ key }) => key), ...retired]
  return keys.map((key) => key.publicJwk)
}
