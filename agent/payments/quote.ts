/** The quote of an operation (x402 v2 `PaymentRequired`), and why a payment is asked for again. */
import { encodePaymentRequiredHeader } from '@x402/core/http'
import type { PaymentRequired } from '@x402/core/types'
import type { Quote } from '../operation/outcome.ts'
import type { OperationName } from '../operation/schema.ts'
import { requirementsOf, X402_VERSION, type Terms } from './terms.ts'

/**
 * The reasons a quote's `error` can give: x402 v2 section 9 where it has a word for it. A facilitator's own text never
 * comes this far.
 */
export type Reason =
  | 'PAYMENT-SIGNATURE header is required'
  | 'invalid_payload'
  | 'invalid_x402_version'
  | 'invalid_payment_requirements'
  | 'invalid_exact_evm_payload_recipient_mismatch'
  | 'invalid_exact_evm_payload_authorization_value_mismatch'
  | 'invalid_exact_evm_payload_authorization_valid_after'
  | 'invalid_exact_evm_payload_authorization_valid_before'
  | 'invalid_exact_evm_payload_signature'
  | 'resource_mismatch'
  | 'insufficient_funds'
  | 'authorization_used'
  | 'verification_refused'
  | 'settlement_refused'
  | 'authorization_expired'

const DESCRIPTIONS: Record<OperationName, string> = {
  lookup: 'One Irish company record by its number.',
  search: 'A ranked search of Irish companies by name.',
  resolve: 'The resolution of a name to one Irish company, or an honest "ambiguous".',
}

interface QuoteRequest {
  terms: Terms
  operation: OperationName
  /** The REST resource that is bought. */
  url: string
  reason: Reason
}

export function quoteFor({ terms, operation, url, reason }: QuoteRequest): Quote {
  const required: PaymentRequired = {
    x402Version: X402_VERSION,
    error: reason,
    resource: { url, description: DESCRIPTIONS[operation], mimeType: 'application/json' },
    accepts: [requirementsOf(terms, operation)],
  }
  return { header: encodePaymentRequiredHeader(required), json: { ...required } }
}
