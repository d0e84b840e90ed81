/** The outcome of a paid request: an answer, or a refusal with or without a quote. */
import type { Refusal } from './refusal.ts'

/** An x402 `PaymentRequired` quote. */
export interface Quote {
  /** The `PAYMENT-REQUIRED` header. */
  header: string
  /** The quote as JSON text, for the body. */
  json: string
}

/** A stored response with the receipt of its settlement. */
interface Answer {
  kind: 'answer'
  /** JSON text. */
  body: string
  /** The `PAYMENT-RESPONSE` header. */
  paymentResponse: string
  /** Identifies the stored response; equal for every replay. It contains the payer, so it is never published. */
  purchaseKey: string
}

export interface Refused {
  kind: 'refused'
  refusal: Refusal
  quote?: Quote
  /** The `PAYMENT-RESPONSE` header of a settlement that failed. */
  paymentResponse?: string
}

export type Outcome = Answer | Refused

export const refused = (refusal: Refusal, quote?: Quote): Refused => ({
  kind: 'refused',
  refusal,
  ...(quote && { quote }),
})
