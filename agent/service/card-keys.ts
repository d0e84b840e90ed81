/**
 * The keys of a running service: the signing key, the key set and the signed agent card. They follow the key directory
 * and the response log without a restart.
 */
import { KEYS_REFRESH_MS, openKeyring, type Keyring } from '../../keys/keyring.ts'
import type { Documents } from '../../rest-facade/documents/current-documents.ts'
import type { WrittenDocument } from '../../rest-facade/documents/templates.ts'
import type { Report, Timer } from '../../store/base/runtime.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import { FREE_PATHS } from '../operation/paths.ts'
import { findLostKeys } from './check-receipt-keys.ts'

interface ServiceKeysOptions {
  directory: string
  log: ResponseLog
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
 * set and card are served. Beside other machines, waits until these publish a new key, because requests may follow.
 */
export async function openServiceKeys({ directory, log, now, timer, report }: ServiceKeysOptions) {
  const open = (previous?: string) =>
    openKeyring({ directory, log, now: () => now().getTime(), ...(previous !== undefined && { previous }) })
  let isStopped = false
  let cancel = () => {}
  let keyring = await open()
  if (keyring.unpublishedMs > 0) {
    report('key_not_published_yet', undefined)
    await new Promise<void>((resolve) => timer(resolve, keyring.unpublishedMs))
    keyring = await open(keyring.kid)
  }
  let sign: SignCard | undefined
  let signed: SignedCard | undefined
  let documents = write()

  function write(): Documents {
    return new Map([
      [FREE_PATHS.jwks, toDocument(keyring.keySet)],
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
      keyring = await open(keyring.kid)
      await publish()
      if ((await findLostKeys(log)).length > 0) report('receipt_keys_lost', undefined)
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
