/** The key set and the signed agent card of a running service. Both follow the key directory without a restart. */
import type { SignedCardJson } from '../keys/card-signature.ts'
import { jwksBody, openKeyring, type Keyring } from '../keys/keyring.ts'
import type { Documents } from '../rest-facade/documents/current-documents.ts'
import type { WrittenDocument } from '../rest-facade/documents/render-documents.ts'
import type { Report, Timer } from '../store/runtime.ts'
import { FREE_PATHS } from './operation/paths.ts'

/** Short against the hour for which a new key is published before it signs (keys/lifecycle.ts). */
export const KEYS_REFRESH_MS = 60_000

interface CardKeysOptions {
  directory: string
  /** Undefined if there is no card, because A2A is disabled. */
  sign: ((keyring: Keyring) => Promise<SignedCardJson>) | undefined
  now: () => Date
  timer: Timer
  report: Report
}

/** The card, and the key that signed it. */
interface SignedCard {
  kid: string
  document: WrittenDocument
}

/**
 * Opens the keys, or creates the first one, and reads them again every minute. While they cannot be read, the last key set
 * and card are served.
 */
export async function openCardKeys({ directory, sign, now, timer, report }: CardKeysOptions) {
  let isStopped = false
  let cancel = () => {}
  let signed: SignedCard | undefined
  let documents: Documents

  const load = async (generateIfEmpty: boolean) => {
    const keyring = await openKeyring({ directory, now: () => now().getTime(), generateIfEmpty })
    // Each ES256 signature is different, so the card is signed again only when the key changes.
    if (sign && signed?.kid !== keyring.kid) {
      signed = { kid: keyring.kid, document: { ...toDocument(await sign(keyring)), modifiedAt: now() } }
    }
    documents = new Map([
      [FREE_PATHS.jwks, toDocument(jwksBody(keyring))],
      ...(signed ? [[FREE_PATHS.agentCard, signed.document] as const] : []),
    ])
  }
  const schedule = () => {
    if (isStopped) return
    cancel = timer(() => {
      void load(false)
        .catch((cause: unknown) => report('keys_unreadable', cause))
        .then(schedule)
    }, KEYS_REFRESH_MS)
  }
  await load(true)
  schedule()
  return {
    /** A new map after each refresh. */
    documents: () => documents,
    stop() {
      isStopped = true
      cancel()
    },
  }
}

function toDocument(body: object): WrittenDocument {
  return { type: 'application/json', text: JSON.stringify(body) }
}
