/**
 * The keys of a running service: the signing key, the key set and the signed agent card. They follow the key directory
 * without a restart.
 */
import { jwksBody, openKeyring, type Keyring } from '../../keys/keyring.ts'
import type { Documents } from '../../rest-facade/documents/current-documents.ts'
import type { WrittenDocument } from '../../rest-facade/documents/render-documents.ts'
import type { Report, Timer } from '../../store/base/runtime.ts'
import { FREE_PATHS } from '../operation/paths.ts'

/** Short against the hour for which a new key is published before it signs (keys/lifecycle.ts). */
export const KEYS_REFRESH_MS = 60_000

interface ServiceKeysOptions {
  directory: string
  now: () => Date
  timer: Timer
  report: Report
}

type SignCard = (keyring: Keyring) => Promise<object>

/** The card, and the key that signed it. */
interface SignedCard {
  kid: string
  document: WrittenDocument
}

/**
 * Opens the keys, or creates the first one, and reads them again every minute. While they cannot be read, the last key
 * set and card are served.
 */
export async function openServiceKeys({ directory, now, timer, report }: ServiceKeysOptions) {
  const open = (generateIfEmpty: boolean) => openKeyring({ directory, now: () => now().getTime(), generateIfEmpty })
  let isStopped = false
  let cancel = () => {}
  let keyring = await open(true)
  let sign: SignCard | undefined
  let signed: SignedCard | undefined
  let documents = write()

  function write(): Documents {
    return new Map([
      [FREE_PATHS.jwks, toDocument(jwksBody(keyring))],
      ...(signed ? [[FREE_PATHS.agentCard, signed.document] as const] : []),
    ])
  }
  async function publish(): Promise<void> {
    // Each ES256 signature is different, so the card is signed again only when the key changes.
    if (sign && signed?.kid !== keyring.kid) {
      signed = { kid: keyring.kid, document: { ...toDocument(await sign(keyring)), modifiedAt: now() } }
    }
    documents = write()
  }
  async function refresh(): Promise<void> {
    try {
      keyring = await open(false)
      await publish()
    } catch (cause) {
      report('keys_unreadable', cause)
    }
    schedule()
  }
  function schedule(): void {
    if (!isStopped) cancel = timer(() => void refresh(), KEYS_REFRESH_MS)
  }
  schedule()
  return {
    /** The key that signs now. */
    keyring: () => keyring,
    /** Signs the agent card and publishes it, now and after each change of the key. */
    publishCard(signCard: SignCard): Promise<void> {
      sign = signCard
      return publish()
    },
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
