/** The payments that the chain shows as settled and that have no record, for the operator. */
import { StoreError } from '../files/environment.ts'
import { updateDocument } from './documents.ts'
import type { ResponseLog } from './responses.ts'

export interface UnrecordedPayment {
  readonly identity: string
  readonly transaction: string
  /** When the service found it. ISO 8601, in UTC. */
  readonly found_at: string
}

/** Longer than an operator can work through. */
export const UNRECORDED_MAX = 1_000

const documentOf = (log: Pick<ResponseLog, 'document'>) => log.document<readonly UnrecordedPayment[]>('unrecorded')

/** First found first. */
export async function listUnrecorded(log: Pick<ResponseLog, 'document'>): Promise<readonly UnrecordedPayment[]> {
  return (await documentOf(log).read())?.value ?? []
}

/**
 * Lists a payment. Resolves with whether it is new in the list.
 * @throws StoreError if the list is full
 */
export async function noteUnrecorded(log: Pick<ResponseLog, 'document'>, payment: UnrecordedPayment): Promise<boolean> {
  let isNew = false
  await updateDocument(documentOf(log), (stored) => {
    const payments = stored?.value ?? []
    isNew = payments.every(({ identity }) => identity !== payment.identity)
    if (!isNew) return undefined
    if (payments.length >= UNRECORDED_MAX) throw new StoreError('The list of unrecorded payments is full')
    return [...payments, payment]
  })
  return isNew
}

/** Removes the payments that were found before a time. */
export async function pruneUnrecorded(log: Pick<ResponseLog, 'document'>, before: Date): Promise<void> {
  const time = before.toISOString()
  await updateDocument(documentOf(log), (stored) => {
    const kept = stored?.value.filter(({ found_at }) => found_at >= time)
    return kept?.length === stored?.value.length ? undefined : kept
  })
}
