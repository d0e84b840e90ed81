/**
 * The life of a key: it is published, signs an hour later, is superseded when the next key begins to sign, and leaves the
 * key set 30 days after that. All of this follows from the times in the key files and the clock.
 */
import type { DirectoryKeys } from './directory.ts'
import type { PublicJwk, RetiredKey, SigningKey } from './key-file.ts'

/**
 * How long a new key is published before it signs. A running service publishes it within a minute, caches keep the key set
 * for a minute, and libraries that verify cards keep it for ten minutes or more.
 */
export const KEY_LEAD_SECONDS = 60 * 60

/** A retired key stays published for 30 days (contract 13.2), because agent cards are stored. */
export const RETIRED_KEY_SECONDS_MIN = 30 * 24 * 60 * 60

/** A private key that no longer signs, and the time at which the next key has begun to sign. */
export interface SupersededKey {
  readonly key: SigningKey
  readonly retiredAtSeconds: number
}

export interface KeyStates {
  /** The key that signs. */
  readonly current: SigningKey | undefined
  /** Keys that will sign later, newest first. */
  readonly pending: readonly SigningKey[]
  /** Newest first. */
  readonly superseded: readonly SupersededKey[]
  /** Keys without a private part. The key that was retired last comes first. */
  readonly retired: readonly RetiredKey[]
}

/** The newest key that has been published long enough signs. If none has, the oldest signs, so that there is always one. */
export function keyStates({ signing, retired }: DirectoryKeys, atSeconds: number): KeyStates {
  const isReady = signing.map((key) => signsFromSeconds(key) <= atSeconds)
  const at = isReady.includes(true) ? isReady.indexOf(true) : signing.length - 1
  const superseded = signing.slice(at + 1).map((key, older) => {
    const next = signing[at + older] ?? key
    return { key, retiredAtSeconds: signsFromSeconds(next) }
  })
  return { current: signing[at], pending: signing.slice(0, Math.max(at, 0)), superseded, retired }
}

export function signsFromSeconds(key: SigningKey): number {
  return key.madeAtSeconds + KEY_LEAD_SECONDS
}

/** Whether a retired key is still in the JWKS. The last second is included because times are truncated to seconds. */
export function isPublished({ retiredAtSeconds }: { retiredAtSeconds: number }, atSeconds: number): boolean {
  return atSeconds - retiredAtSeconds <= RETIRED_KEY_SECONDS_MIN
}

/** All keys of the JWKS. The signing key comes first. */
export function publishedKeys({ current, pending, superseded, retired }: KeyStates, atSeconds: number): PublicJwk[] {
  const former = [
    ...superseded.map(({ key, retiredAtSeconds }) => ({ publicJwk: key.publicJwk, retiredAtSeconds })),
    ...retired,
  ]
  const published = [...(current ? [current] : []), ...pending, ...former.filter((key) => isPublished(key, atSeconds))]
  return published.map((key) => key.publicJwk)
}
