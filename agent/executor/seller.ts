/** What one sale is made with and about: the seller's surroundings, and the order as a door hands it in. */
import { LRUCache } from 'lru-cache'
import type { Catalog } from '../../store/catalog.ts'
import { operationDigest } from '../operation/canonical.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import type { RefusalCode } from '../operation/refusal.ts'
import type { Operation } from '../operation/schema.ts'
import { paymentHash, paymentIdentity, paymentIdKey } from '../payments/binding.ts'
import { readPayment, type Payment } from '../payments/headers.ts'
import { quoteFor, type Reason } from '../payments/quote.ts'
import type { PaymentDesk } from '../payments/settle.ts'
import type { Terms } from '../payments/terms.ts'
import type { Shelf } from '../skills/skill.ts'
import type { RateLimit } from './rate-limit.ts'
import type { Turns } from './turns.ts'

export interface Seller {
  terms: Terms
  catalog: Catalog
  desk: PaymentDesk
  rateLimit: RateLimit
  turns: Turns
}

export interface Order {
  operation: Operation
  /** Every `PAYMENT-SIGNATURE` header of the request, undecoded. */
  paymentHeaders: readonly string[]
  /** The REST resource that a quote names. */
  resourceUrl: string
}

/** A payment that could be read, with what it is known by and bound to. */
export interface Offered {
  kind: 'payment'
  payment: Payment
  identity: string
  /** The payer and his own id for it, where he gave one. */
  id: string | undefined
  hash: string
  /** Of the operation that it was offered for. */
  digest: string
}

/** An order with what was offered for it. */
export interface Purchase extends Order {
  offer: Offered | { kind: 'none' } | { kind: 'unreadable'; reason: Reason }
}

/** Of some kilobytes each. */
const OFFERS_KEPT_MAX = 256
/** The latest, under their headers: who asks again sends the same header for the same operation. */
const offers = new LRUCache<string, { operation: string; offer: Offered }>({ max: OFFERS_KEPT_MAX })

export function openPurchase(order: Order): Purchase {
  const [header = '', ...more] = order.paymentHeaders
  const operation = JSON.stringify(order.operation)
  const known = offers.get(header)
  if (more.length === 0 && known?.operation === operation) return { ...order, offer: known.offer }
  const offer = readOffer(order)
  if (offer.kind === 'payment') offers.set(header, { operation, offer })
  return { ...order, offer }
}

function readOffer({ paymentHeaders, operation }: Order): Purchase['offer'] {
  const read = readPayment(paymentHeaders)
  if (read.kind !== 'payment') return read
  const { payment, parsed } = read
  const knownBy = { identity: paymentIdentity(payment), id: paymentIdKey(payment), hash: paymentHash(parsed) }
  return { kind: 'payment', payment, ...knownBy, digest: operationDigest(operation) }
}

/** A 402: the refusal of a payment, or of its absence, with a fresh quote that says why. */
export function askForPayment({ terms }: Seller, order: Order, code: RefusalCode, reason: Reason): Refused {
  const { operation } = order.operation
  return refused({ code }, quoteFor({ terms, operation, url: order.resourceUrl, reason }))
}

/** Far above what any query took (docs/accuracy.md); others wait while one is answered. */
const ANSWER_TIME_MAX_MS = 250

/**
 * The data as it is now, and the time there is for an answer from it. It counts from the first look at it: what a snapshot
 * takes to be read into memory, once, is not the query's fault.
 */
export function shelfOf({ catalog, terms, desk }: Seller): Shelf {
  let start: number | undefined
  return {
    dataset: catalog.current(),
    hasSyntheticCompany: terms.mode === 'testnet',
    isTimeUp() {
      const time = desk.now().getTime()
      start ??= time
      return time - start > ANSWER_TIME_MAX_MS
    },
  }
}
