/** The checks of a payment that need no network, cheapest first: terms, times, resource, signature (decisions 5). */
import { canonicalJson } from '../operation/canonical.ts'
import { namesAnotherOperation } from '../operation/resource.ts'
import type { Operation } from '../operation/schema.ts'
import type { Authorization, Payment } from './headers.ts'
import type { Reason } from './quote.ts'
import { isPlain, isTakenByToken, recoverSigner } from './signature.ts'
import { oncePerOperation, QUOTE_LIFETIME_SECONDS, requirementsOf, type Terms } from './terms.ts'

/** An authorization must outlive verification and settlement. */
export const SECONDS_LEFT_MIN = 15
/** How far a client's clock may run ahead of ours. */
const CLOCK_SKEW_SECONDS_MAX = 60

/** The end of a signature of a wallet that is not deployed yet (ERC-6492). */
const ERC6492_SUFFIX = '6492'.repeat(16)

export interface TermsCheck {
  payment: Payment
  terms: Terms
  operation: Operation
  /** The resource that the quote named, and stock clients send back. */
  resourceUrl: string
  now: Date
}

const canonicalRequirements = oncePerOperation((terms, operation) => canonicalJson(requirementsOf(terms, operation)))

/** Why a payment is not the one that was quoted, in form, terms or time; undefined when it is. */
export function checkTerms({ payment, terms, operation, resourceUrl, now }: TermsCheck): Reason | undefined {
  const { authorization, signature } = payment.payload
  const accepted = canonicalRequirements(terms, operation.operation)
  if (canonicalJson(payment.accepted) !== accepted) return 'invalid_payment_requirements'
  if (authorization.to.toLowerCase() !== terms.payTo.toLowerCase())
    return 'invalid_exact_evm_payload_recipient_mismatch'
  if (authorization.value !== String(terms.prices[operation.operation]))
    return 'invalid_exact_evm_payload_authorization_value_mismatch'
  const url = payment.resource?.url
  if (url !== undefined && url !== resourceUrl && namesAnotherOperation(url, operation)) return 'resource_mismatch'
  return checkTimes(authorization, now) ?? checkSignatureForm(signature)
}

/** The token takes an authorization strictly between `validAfter` and `validBefore` (EIP-3009). */
export function checkTimes({ validAfter, validBefore }: Authorization, now: Date): Reason | undefined {
  const seconds = BigInt(Math.floor(now.getTime() / 1000))
  if (BigInt(validAfter) >= seconds) return 'invalid_exact_evm_payload_authorization_valid_after'
  const earliest = seconds + BigInt(SECONDS_LEFT_MIN)
  const latest = seconds + BigInt(QUOTE_LIFETIME_SECONDS + CLOCK_SKEW_SECONDS_MAX)
  if (BigInt(validBefore) < earliest || BigInt(validBefore) > latest) {
    return 'invalid_exact_evm_payload_authorization_valid_before'
  }
  return undefined
}

function checkSignatureForm(signature: string): Reason | undefined {
  if (signature.toLowerCase().endsWith(ERC6492_SUFFIX)) return 'invalid_exact_evm_payload_signature'
  return isPlain(signature) && !isTakenByToken(signature) ? 'invalid_exact_evm_payload_signature' : undefined
}

/**
 * Whether a plain account's signature is the payer's. A contract wallet's longer one can only be judged on chain, by the
 * facilitator.
 */
export function isSignedByPayer({ payload }: Payment, terms: Terms): boolean {
  const { signature, authorization } = payload
  return !isPlain(signature) || recoverSigner(payload, terms) === authorization.from.toLowerCase()
}
