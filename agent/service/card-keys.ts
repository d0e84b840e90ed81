/**
 * The keys of a running service: the signing key, the key set and the signed agent card. They follow the key directory
 * and the response log without a restart. The key set keeps the keys of earlier receipts, which stay verifiable.
 */
import { AgentCard, generateAgentCardSignature } from '@a2a-js/sdk'
import { readDirectory } from '../../keys/key-files.ts'
import { KEYS_REFRESH_MS, openKeyring, type Keyring } from '../../keys/keyring.ts'
import { jsonDocument, type Documents } from '../../rest-facade/documents/render-documents.ts'
import type { WrittenDocument } from '../../rest-facade/documents/templates.ts'
import type { Report, Timer } from '../../base/runtime.ts'
import { CorruptRecordError } from '../../store/files/checksum.ts'
import { StoreError } from '../../store/files/environment.ts'
import { announceKey, readPublicKeys } from '../../store/log/public-keys.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import { FREE_PATHS } from '../operation/endpoints.ts'
import { readKeyId } from '../payment/receipt/verify.ts'

interface ServiceKeysOptions {
  directory: string
  log: ResponseLog
  now: () => Date
  timer: Timer
  report: Report
}

/**
 * Opens the keys, or creates the first one, and reads them again every minute. While they cannot be read, the last key
 * set and card are served. With a shared log, waits until the other machines publish a new key before it signs with it.
 */
export async function openServiceKeys({ directory, log, now, timer, report }: ServiceKeysOptions) {
  const open = (previous?: string) =>
    openKeyring({ directory, log, now: () => now().getTime(), ...(previous !== undefined && { previous }) })
  let isStopped = false
  let cancel = () => {}
  let fault: string | undefined
  let keyring = await open()
  if (keyring.unpublishedMs > 0) {
    report('key_not_published_yet', undefined)
    await new Promise<void>((resolve) => timer(resolve, keyring.unpublishedMs))
    keyring = await open(keyring.kid)
  }
  let unsigned: { card: () => AgentCard; jwksUrl: string } | undefined
  let signed: { kid: string; content: string; document: WrittenDocument } | undefined
  let documents: Documents = new Map()
  await publish()

  async function publish(): Promise<void> {
    if (unsigned) {
      const { kid } = keyring
      const card = unsigned.card()
      const content = JSON.stringify(AgentCard.toJSON(card))
      // Each ES256 signature is different, so the card is signed again only when the key or the card changes.
      if (signed?.kid !== kid || signed.content !== content) {
        const document = jsonDocument(await signCard({ ...unsigned, card }, keyring))
        signed = { kid, content, document: { ...document, modifiedAt: now() } }
      }
    }
    documents = new Map([
      [FREE_PATHS.jwks, jsonDocument(keyring.keySet)],
      ...(signed ? [[FREE_PATHS.agentCard, signed.document] as const] : []),
    ])
  }
  async function refresh(): Promise<void> {
    try {
      keyring = await open(keyring.kid)
      await publish()
      fault = (await findLostKeys(log)).length > 0 ? 'receipt_keys_lost' : undefined
      if (fault !== undefined) report(fault, undefined)
    } catch (cause) {
      fault = 'keys_unreadable'
      // A stop closes the log while a refresh reads it.
      if (!isStopped) report(fault, cause)
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
    /** What the last refresh has reported. Undefined if the keys can be read and none is lost. */
    fault: () => fault,
    /** Signs the agent card and publishes it, now and after each change of the key or of the card. */
    publishCard(card: () => AgentCard, jwksUrl: string): Promise<void> {
      unsigned = { card, jwksUrl }
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

/**
 * Signs the agent card (A2A 1.0 section 8.4: JWS over the RFC 8785 form). Verifiers differ in what they drop, escape
 * and round before they hash. A card verifies everywhere if it has every required field, extension params that are
 * strings, printable ASCII only, and no numbers, nulls, empty values or security schemes.
 */
async function signCard({ card, jwksUrl }: { card: AgentCard; jwksUrl: string }, { kid, privateKey }: Keyring) {
  // A copy without undefined members, as a client parses it.
  const json = JSON.parse(JSON.stringify(AgentCard.toJSON(card))) as Record<string, unknown>
  // The SDK's signer expects ProtoJSON under the type AgentCard. It drops members of a real AgentCard (a2a-js issue
  // 663).
  const sign = generateAgentCardSignature(privateKey, { alg: 'ES256', typ: 'JOSE', kid, jku: jwksUrl })
  const { signatures } = await sign(json as unknown as AgentCard)
  return { ...json, signatures: signatures.map((each) => ({ protected: each.protected, signature: each.signature })) }
}

type ReceiptLog = Pick<ResponseLog, 'list' | 'read' | 'document'>

/** The open and the final records whose receipts are compared with the keys. */
const RECORDS_MAX = 10

function undefinedIfCorrupt(cause: unknown): undefined {
  if (!(cause instanceof CorruptRecordError)) throw cause
}

/** The ids of keys that have signed the newest receipts, and that the log does not have. */
async function findLostKeys(log: ReceiptLog): Promise<string[]> {
  const pages = await Promise.all((['open', 'final'] as const).map((kind) => log.list({ kind, max: RECORDS_MAX })))
  const used = new Set<string>()
  for (const identity of pages.flatMap(({ identities }) => identities)) {
    const record = await log.read(identity).catch(undefinedIfCorrupt)
    const receipt = record?.receipt
    const kid = receipt === undefined ? undefined : readKeyId(receipt)
    if (kid !== undefined) used.add(kid)
  }
  for (const { kid } of await readPublicKeys(log)) used.delete(kid)
  return [...used]
}

/**
 * Refuses a start that has lost the keys of earlier receipts. Call it before keys are created or announced. With
 * `acceptedAt`, lost keys are listed as compromised since then, because their receipts can no longer be verified.
 * @throws StoreError whose message is one line for the operator
 */
export async function checkReceiptKeys(log: ReceiptLog, keysDirectory: string, acceptedAt?: Date): Promise<void> {
  const own = new Set((await readDirectory(keysDirectory)).map(({ publicJwk }) => publicJwk.kid))
  const lost = (await findLostKeys(log)).filter((kid) => !own.has(kid))
  if (lost.length > 0 && !acceptedAt)
    throw new StoreError(
      `Neither the response log nor DATA_DIR/keys has the key ${lost[0]} of earlier receipts: restore the keys, or start once with --new-keys`,
    )
  const compromised_at = acceptedAt?.toISOString() ?? null
  for (const kid of lost) await announceKey(log, { kid, jwk: {}, compromised_at })
}
