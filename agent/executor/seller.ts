/** What one sale is made with and about: the seller's surroundings, and the order as a door hands it in. */
import type { Catalog } from '../../store/catalog.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import type { RefusalCode } from '../operation/refusal.ts'
import type { Operation } from '../operation/schema.ts'
import { quoteFor, type Reason } from '../payments/quote.ts'
import type { PaymentDesk } from '../payments/settle.ts'
import type { Terms } from '../payments/terms.ts'
import type { Shelf } from '../skills/skill.ts'
import type { Offer, Offers } from './offers.ts'
import type { RateLimit } from './rate-limit.ts'
import type { Turns } from './turns.ts'

export interface Seller {
  terms: Terms
  catalog: Catalog
  desk: PaymentDesk
  rateLimit: RateLimit
  turns: Turns
  offers: Offers
}

export interface Order {
  operation: Operation
  /** Every `PAYMENT-SIGNATURE` header of the request, undecoded. */
  paymentHeaders: readonly string[]
  /** The REST resource that a quote names. */
  resourceUrl: string
}

/** An order with what was offered for it. */
export interface Purchase extends Order {
  offer: Offer
}

export function openPurchase({ offers }: Seller, order: Order): Purchase {
  return { ...order, offer: offers.read(order.paymentHeaders, order.operation) }
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
