/** Payment checks that need no network: terms, times, signature, resource. */
import { isDeepStrictEqual } from 'node:util'
import { namesAnotherOperation } from '../operation/resource.ts'
import type { Operation } from '../operation/schema.ts'
import type { Payment, PaymentOutline, TransferAuthorization } from './headers.ts'
import type { QuoteReason } from './quote.ts'
import { recoverSigner } from './signature.ts'
import { buildRequirements, memoizePerOperation, QUOTE_LIFETIME_SECONDS, type Terms } from './terms.ts'

/** An authorization must outlive verification and settlement. */
export const SECONDS_LEFT_MIN = 15
/** How far the client's clock may be ahead of the service's clock. */
const CLOCK_SKEW_SECONDS_MAX = 60

/** The suffix of a signature of a wallet contract that is not deployed yet (ERC-6492). */
const ERC6492_SUFFIX = '6492'.repeat(16)

export interface TermsCheck {
  outline: PaymentOutline
  terms: Terms
  operation: Operation
  now: Date
}

const quotedRequirements = memoizePerOperation(buildRequirements)

/** Returns how a payment differs from the quote in terms or times. Undefined if it does not differ. */
export function checkTerms({ outline, terms, operation, now }: TermsCheck): QuoteReason | undefined {
  const { authorization } = outline.payload
  if (!isDeepStrictEqual(outline.accepted, quotedRequirements(terms, operation.operation)))
    return 'invalid_payment_requirements'
  if (authorization.to.toLowerCase() !== terms.payTo.toLowerCase())
    return 'invalid_exact_evm_payload_recipient_mismatch'
  if (authorization.value !== String(terms.prices[operation.operation]))
    return 'invalid_exact_evm_payload_authorization_value_mismatch'
  return checkTimes(authorization, now)
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

export function isErc6492(signature: string): boolean {
  return signature.toLowerCase().endsWith(ERC6492_SUFFIX)
}

/** Whether the key of the payer's address signed the authorization. Only the chain can check other signatures. */
export function isSignedByPayer({ payload }: Payment, terms: Terms): boolean {
  return recoverSigner(payload, terms) === payload.authorization.from.toLowerCase()
}

/** Standard clients copy the resource of the quote, `resourceUrl`, into the payment. */
export function namesAnotherResource({ resource }: Payment, operation: Operation, resourceUrl: string): boolean {
  return resource !== undefined && resource.url !== resourceUrl && namesAnotherOperation(resource.url, operation)
}
