/** What can come of a request, as one union: a bought answer, or a refusal with or without a quote. */
import type { Refusal } from './refusal.ts'

/** A quote (x402 `PaymentRequired`): the header that clients pay by, and the same as JSON text for people. */
export interface Quote {
  header: string
  json: string
}

/** A bought answer, byte for byte as it was stored, with the settlement it was bought by. */
interface Answer {
  kind: 'answer'
  /** JSON text. */
  body: string
  /** The `PAYMENT-RESPONSE` header. */
  paymentResponse: string
  /** What the stored answer is known by, the same for every replay of it. Not for others: it names the payer. */
  purchaseKey: string
}

export interface Refused {
  kind: 'refused'
  refusal: Refusal
  quote?: Quote
}

export type Outcome = Answer | Refused

export const refused = (refusal: Refusal, quote?: Quote): Refused => ({
  kind: 'refused',
  refusal,
  ...(quote && { quote }),
})
