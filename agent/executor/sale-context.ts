/** The types of a sale: its fixed context, the request, and the result of the steps. */
import type { Catalog } from '../../store/catalog.ts'
import type { Outcome } from '../operation/outcome.ts'
import type { Operation } from '../operation/schema.ts'
import type { QuoteReason } from '../payments/quote.ts'
import type { SettlementServices } from '../settlement/services.ts'
import type { Terms } from '../payments/terms.ts'
import type { CallLimit } from './call-limit.ts'
import type { KeyedMutex } from './keyed-mutex.ts'
import type { PaymentDecoder } from './payment-decoder.ts'
import type { QuoteLimit } from './quote-limit.ts'
import type { RateLimit } from './rate-limit.ts'
import type { ReplayLimit } from './replay-limit.ts'

/** Created once per service. */
export interface SaleContext {
  terms: Terms
  catalog: Catalog
  payments: SettlementServices
  /** Limits requests with a payment. */
  rateLimit: RateLimit
  /** Limits requests that get a quote. */
  quoteLimit: QuoteLimit
  /** Limits requests with a payment that has a record. */
  replayLimit: ReplayLimit
  /** Limits searches for the settlement of a payment without a record. */
  searchLimit: ReplayLimit
  /** Requests with the same payment identity run one at a time. */
  paymentMutex: KeyedMutex
  paymentDecoder: PaymentDecoder
  /** Aborted when the service stops. */
  stopSignal: AbortSignal
}

export interface SaleRequest {
  operation: Operation
  /** All `PAYMENT-SIGNATURE` headers, undecoded. */
  paymentHeaders: readonly string[]
  /** The REST resource that a quote names. */
  resourceUrl: string
  /** The network address of the client, from `clientAddress`. */
  client: string
  /** For the log. */
  requestId?: string | undefined
  /** Limits the sales that run at once. Absent if the transport has no limit. */
  callLimit?: CallLimit
}

/** A 402 without its quote. `perform` adds a new quote that states the reason (contract 7.4). */
export interface PaymentRefusal {
  kind: 'payment_refused'
  code: 'payment_required' | 'payment_invalid' | 'payment_rejected' | 'payment_failed'
  reason: QuoteReason
  /** The `PAYMENT-RESPONSE` header, if a settlement was tried. */
  paymentResponse?: string
}

export type SaleResult = Outcome | PaymentRefusal

export function refusePayment(code: PaymentRefusal['code'], reason: QuoteReason): PaymentRefusal {
  return { kind: 'payment_refused', code, reason }
}
