/** Payment checks that need no network, in order of cost: terms, times, resource, signature. */
import { canonicalJson } from '../operation/canonical.ts'
import { namesAnotherOperation } from '../operation/resource.ts'
import type { Operation } from '../operation/schema.ts'
import type { Payment, TransferAuthorization } from './headers.ts'
import type { QuoteReason } from './quote.ts'
import { isAcceptedByToken, isEoaSignature, recoverSigner } from './signature.ts'
import { buildRequirements, memoizePerOperation, QUOTE_LIFETIME_SECONDS, type Terms } from './terms.ts'

/** An authorization must outlive verification and settlement. */
export const SECONDS_LEFT_MIN = 15
/** How far the client's clock may be ahead of the service's clock. */
const CLOCK_SKEW_SECONDS_MAX = 60

/** The suffix of a signature of a wallet contract that is not deployed yet (ERC-6492). */
const ERC6492_SUFFIX = '6492'.repeat(16)

export interface TermsCheck {
  payment: Payment
  terms: Terms
  operation: Operation
  /** The resource URL of the quote. Standard clients copy it into the payment. */
  resourceUrl: string
  now: Date
}

const canonicalRequirements = memoizePerOperation((terms, operation) =>
  canonicalJson(buildRequirements(terms, operation)),
)

/** Returns how a payment differs from the quote in terms, times or signature form. Undefined if it does not differ. */
export function checkTerms({ payment, terms, operation, resourceUrl, now }: TermsCheck): QuoteReason | undefined {
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

/** The token accepts an authorization strictly between `validAfter` and `validBefore` (EIP-3009). */
export function checkTimes({ validAfter, validBefore }: TransferAuthorization, now: Date): QuoteReason | undefined {
  const seconds = BigInt(Math.floor(now.getTime() / 1000))
  if (BigInt(validAfter) >= seconds) return 'invalid_exact_evm_payload_authorization_valid_after'
  const earliest = seconds + BigInt(SECONDS_LEFT_MIN)
  const latest = seconds + BigInt(QUOTE_LIFETIME_SECONDS + CLOCK_SKEW_SECONDS_MAX)
  if (BigInt(validBefore) < earliest || BigInt(validBefore) > latest) {
    return 'invalid_exact_evm_payload_authorization_valid_before'
  }
  return undefined
}

function checkSignatureForm(signature: string): QuoteReason | undefined {
  if (signature.toLowerCase().endsWith(ERC6492_SUFFIX)) return 'invalid_exact_evm_payload_signature'
  return isEoaSignature(signature) && !isAcceptedByToken(signature) ? 'invalid_exact_evm_payload_signature' : undefined
}

/**
 * Whether the payer signed the authorization. Signatures of contract wallets (ERC-1271) count as signed here: only the
 * facilitator can check them, on chain.
 */
export function isSignedByPayer({ payload }: Payment, terms: Terms): boolean {
  const { signature, authorization } = payload
  return !isEoaSignature(signature) || recoverSigner(payload, terms) === authorization.from.toLowerCase()
}
