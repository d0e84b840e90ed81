/** The quote of an operation (x402 v2 `PaymentRequired`), and why a payment is asked for again. */
import type { PaymentRequired, ResourceInfo } from '@x402/core/types'
import type { Quote } from '../operation/outcome.ts'
import { RESOURCE_DESCRIPTIONS } from '../operation/resource.ts'
import type { OperationName } from '../operation/schema.ts'
import { extensionsOf } from './extensions.ts'
import { oncePerOperation, requirementsOf, X402_VERSION, type Terms } from './terms.ts'

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

interface QuoteRequest {
  terms: Terms
  operation: OperationName
  /** The REST resource that is bought. */
  url: string
  reason: Reason
}

/**
 * Proxies stop at 4 or 8 KiB of a response's head, and only the URL of a search can be long. Beyond the first length a
 * quote leaves out what is for crawlers; beyond the second, which takes two hundred letters from outside the Latin
 * alphabet, it spells them in UTF-8 instead of percent signs, which every URL parser reads as the same.
 */
const URL_CHARACTERS_FOR_CRAWLERS = 1024
const URL_CHARACTERS_MAX = 2200

/**
 * What a quote says after its resource: made once, since it is most of it and every unpaid request gets it. Base64 takes
 * three bytes at a time, so it is kept as it reads without its first 0, 1 and 2 bytes, which complete what is before it.
 */
const restOf = oncePerOperation((terms, operation) => {
  const accepts = [requirementsOf(terms, operation)]
  const { bazaar, ...others } = extensionsOf(terms, operation)
  const write = (extensions: object) => {
    const json = JSON.stringify({ accepts, extensions }).slice(1)
    return { json, base64Without: [0, 1, 2].map((bytes) => Buffer.from(json).subarray(bytes).toString('base64')) }
  }
  return { whole: write({ bazaar, ...others }), short: write(others) }
})

function resourceOf({ operation, url }: QuoteRequest): ResourceInfo {
  const short = url.length > URL_CHARACTERS_MAX ? url.replace(/(%[89A-F][0-9A-F])+/gi, decodeURIComponent) : url
  return { url: short, description: RESOURCE_DESCRIPTIONS[operation], mimeType: 'application/json' }
}

/** The text of an x402 v2 `PaymentRequired`, and the same in standard base64. */
export function quoteFor(request: QuoteRequest): Quote {
  const { terms, operation, url, reason } = request
  const { whole, short } = restOf(terms, operation)
  const first: Omit<PaymentRequired, 'accepts'> = {
    x402Version: X402_VERSION,
    error: reason,
    resource: resourceOf(request),
  }
  const head = `${JSON.stringify(first).slice(0, -1)},`
  const rest = url.length > URL_CHARACTERS_FOR_CRAWLERS ? short : whole
  const borrowed = (3 - (Buffer.byteLength(head) % 3)) % 3
  const header = `${Buffer.from(head + rest.json.slice(0, borrowed)).toString('base64')}${rest.base64Without[borrowed]}`
  return { header, json: head + rest.json }
}
