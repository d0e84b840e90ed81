/** The outcome of a paid request: an answer, or a refusal with or without a quote. */
import { NEXT_OF_CASE, type Refusal } from './refusal.ts'

export interface Quote {
  /** The `PAYMENT-REQUIRED` header. */
  header: string
  /** The quote as JSON text. */
  json: string
  /** Its members but `error` as JSON text, without the opening brace, for the body. */
  members: string
}

/** The values of `error` in a quote: codes of x402 v2 section 9 where one fits, never text of a facilitator. */
export type QuoteReason =
  | 'Payment is required'
  | 'invalid_payload'
  | 'invalid_x402_version'
  | 'invalid_payment_requirements'
  | 'invalid_exact_evm_payload_recipient_mismatch'
  | 'invalid_exact_evm_payload_authorization_value_mismatch'
  | 'invalid_exact_evm_payload_authorization_valid_after'
  | 'invalid_exact_evm_payload_authorization_valid_before'
  | 'invalid_exact_evm_payload_signature'
  | 'invalid_exact_evm_payload_undeployed_smart_wallet'
  | 'eip6492_factory_not_allowed'
  | 'resource_mismatch'
  | 'insufficient_funds'
  | 'authorization_used'
  | 'verification_refused'
  | 'settlement_refused'
  | 'authorization_expired'
  | 'authorization_ends_more_than_3600_seconds_ahead'

/** A stored response with the receipt of its settlement. */
interface Answer {
  kind: 'answer'
  body: string
  /** The `PAYMENT-RESPONSE` header. */
  paymentResponse: string
  /** Identifies the stored response; equal for every replay. It contains the payer, so it is never published. */
  purchaseKey: string
}

export interface Refused {
  kind: 'refused'
  refusal: Refusal
  /** Every 402 has one (contract 5.1.1). */
  quote?: Quote
  /** The `PAYMENT-RESPONSE` header of a settlement that failed. */
  paymentResponse?: string
}

/** A 402 to which `perform` adds the quote. */
export interface PaymentRefused {
  kind: 'payment_refused'
  refusal: Refusal
  reason: QuoteReason
  /** What the quote says besides its terms. */
  note?: string
  paymentResponse?: string
}

export type Outcome = Answer | Refused

export type Computed<T> = { kind: 'computed'; answer: T } | Refused

export const refused = (refusal: Refusal): Refused => ({ kind: 'refused', refusal })

/** The refusal of a request that exceeds a limit: whole seconds, at least 1 (contract 6.2.1). */
export const rateLimited = (waitMs: number): Refused =>
  refused({ code: 'rate_limited', retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })

type PaymentRefusalCode = 'payment_required' | 'payment_invalid' | 'payment_rejected' | 'payment_failed'

/** What is at fault in the payment, by the reason. */
const FIELDS: Partial<Record<QuoteReason, string>> = {
  invalid_x402_version: 'x402Version',
  invalid_exact_evm_payload_recipient_mismatch: 'payTo',
  invalid_exact_evm_payload_authorization_value_mismatch: 'amount',
  invalid_exact_evm_payload_authorization_valid_after: 'validAfter',
  invalid_exact_evm_payload_authorization_valid_before: 'validBefore',
  authorization_ends_more_than_3600_seconds_ahead: 'validBefore',
  invalid_exact_evm_payload_signature: 'signature',
  resource_mismatch: 'resource',
}

export const refusedPayment = (
  code: PaymentRefusalCode,
  reason: QuoteReason,
  more: Pick<Refusal, 'detail' | 'field'> = {},
): PaymentRefused => ({
  kind: 'payment_refused',
  refusal: {
    code,
    ...(reason === 'insufficient_funds' && { next: NEXT_OF_CASE.payment_rejected }),
    ...(FIELDS[reason] !== undefined && { field: FIELDS[reason] }),
    ...more,
  },
  reason,
})
