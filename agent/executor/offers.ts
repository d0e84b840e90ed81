/** What a request offers: its payment, as it was read, with what that is known by and bound to. */
import { LRUCache } from 'lru-cache'
import { operationDigest } from '../operation/canonical.ts'
import type { Operation } from '../operation/schema.ts'
import { paymentHash, paymentIdentity, paymentIdKey } from '../payments/binding.ts'
import { readPayment, type Payment } from '../payments/headers.ts'
import type { Reason } from '../payments/quote.ts'

/** Of a few kilobytes each: buyers whose answer was lost ask again within seconds. */
const REMEMBERED_MAX = 256

/** A payment that could be read. */
export interface Offered {
  readonly kind: 'payment'
  readonly payment: Payment
  readonly identity: string
  /** The payer and his own id for it, where he gave one. */
  readonly id: string | undefined
  readonly hash: string
  /** Of the operation that it was offered for. */
  readonly digest: string
}

export type Offer = Offered | { kind: 'none' } | { kind: 'unreadable'; reason: Reason }

/**
 * Reads offers, and remembers those that have bought an answer: who asks again sends the same header for the same operation.
 * An offer follows from these two alone; whether it is good is asked each time.
 */
export class Offers {
  readonly #bought = new LRUCache<string, { operation: string; offered: Offered }>({ max: REMEMBERED_MAX })

  read(headers: readonly string[], operation: Operation): Offer {
    const [header] = headers
    const known = header !== undefined && headers.length === 1 ? this.#bought.get(header) : undefined
    return known?.operation === JSON.stringify(operation) ? known.offered : readOffer(headers, operation)
  }

  /** Only what was paid for: nobody else is to fill this memory. */
  remember([header]: readonly string[], operation: Operation, offer: Offer): void {
    if (header === undefined || offer.kind !== 'payment' || this.#bought.get(header)?.offered === offer) return
    this.#bought.set(header, { operation: JSON.stringify(operation), offered: offer })
  }
}

function readOffer(headers: readonly string[], operation: Operation): Offer {
  const read = readPayment(headers)
  if (read.kind !== 'payment') return read
  const { payment, parsed } = read
  const knownBy = { identity: paymentIdentity(payment), id: paymentIdKey(payment), hash: paymentHash(parsed) }
  return { kind: 'payment', payment, ...knownBy, digest: operationDigest(operation) }
}
