/** The types of a sale: its fixed context, the request, and the result of the steps. */
import type { Catalog } from '../../store/dataset/catalog.ts'
import type { Outcome } from '../operation/outcome.ts'
import type { Operation } from '../operation/operation.ts'
import type { QuoteReason } from '../payment/quote.ts'
import type { SettlementServices } from '../settlement/memory.ts'
import type { Terms } from '../payment/terms.ts'
import type { CallLimit } from '../limits/call-limit.ts'
import type { Client } from '../limits/client.ts'
import type { FairQueue } from '../limits/fair-queue.ts'
import type { GuessLimit } from '../limits/guess-limit.ts'
import type { KeyedMutex } from '../limits/keyed-mutex.ts'
import type { PayerReservations } from '../limits/payer-reservations.ts'
import type { SaleLimit } from '../limits/sale-limit.ts'
import type { PaymentDecoder } from './decode-payment.ts'

/** Created once per service. */
export interface SaleContext {
  terms: Terms
  catalog: Catalog
  payments: SettlementServices
  /** Whether the limit of sales in a minute was reached within the last second. */
  saleLimit: SaleLimit
  /** Limits guesses of what a recorded payment has bought. */
  guessLimit: GuessLimit
  /** Runs the calls to node and facilitator for payments that are not verified yet. */
  verifications: FairQueue
  /** The amounts of verified payments that are not settled yet. */
  payers: PayerReservations
  /** Sales and chain reads for the same payload run one at a time. The key is the hash of the payload. */
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
  client: Client
  /** For the log. */
  requestId?: string | undefined
  /** Limits the verified payments that are sold at once. Absent if the transport has no limit. */
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
