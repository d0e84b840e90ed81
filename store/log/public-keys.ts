/** The public keys of all machines that use a response log. A key that was announced stays, and stays compromised. */
import { updateDocument, type StoredDocument } from './documents.ts'
import type { ResponseLog } from './responses.ts'

export interface AnnouncedKey {
  readonly kid: string
  /** Without private members. */
  readonly jwk: Readonly<Record<string, string>>
  /** When the log first got it, by the clock of the log. Like all times, ISO 8601 in UTC. */
  readonly announced_at: string
  /** When it became known that others may have the private key. Null for a key that only this service has. */
  readonly compromised_at: string | null
}

type NewKey = Omit<AnnouncedKey, 'announced_at'>
/** In the order of their announcement. Those that the last write has added have the time of the document. */
type StoredKeys = readonly (NewKey & Partial<AnnouncedKey>)[]

const documentOf = (log: Pick<ResponseLog, 'document'>) => log.document<StoredKeys>('public-keys')

/** First announced first. */
export async function readPublicKeys(log: Pick<ResponseLog, 'document'>): Promise<AnnouncedKey[]> {
  return keysIn(await documentOf(log).read())
}

/** Adds a public key, or marks one as compromised. Nothing else of a key ever changes. */
export async function announceKey(log: Pick<ResponseLog, 'document'>, key: NewKey): Promise<void> {
  await updateDocument(documentOf(log), (stored) => {
    const keys = keysIn(stored)
    const known = keys.find(({ kid }) => kid === key.kid)
    if (!known) return [...keys, key]
    const { compromised_at } = key
    if (known.compromised_at !== null || compromised_at === null) return undefined
    return keys.with(keys.indexOf(known), { ...known, compromised_at })
  })
}

function keysIn(stored: StoredDocument<StoredKeys> | undefined): AnnouncedKey[] {
  return stored?.value.map((key) => ({ announced_at: stored.written_at, ...key })) ?? []
}
