/** Payment checks that need no network: terms, times, signature, resource. */
import { isDeepStrictEqual } from 'node:util'
import { namesAnotherOperation } from '../operation/resource.ts'
import type { Operation } from '../operation/operation.ts'
import type { Payment, TransferAuthorization } from './headers.ts'
import type { QuoteReason } from '../operation/outcome.ts'
import { recoverSigner } from './signature.ts'
import { ACCEPTED_SECONDS_MAX, amountOf, buildRequirements, memoizePerAmount, type Terms } from './terms.ts'

/** An authorization must outlive verification and settlement. */
const SECONDS_LEFT_MIN = 15

/** The suffix of a signature of a wallet contract that is not deployed yet (ERC-6492). */
const ERC6492_SUFFIX = '6492'.repeat(16)

export interface TermsCheck {
  payment: Payment
  terms: Terms
  operation: Operation
}

const quotedRequirements = memoizePerAmount(buildRequirements)

/** Returns how a payment differs from the terms of the quote. Undefined if it does not differ. */
export function checkTerms({ payment, terms, operation }: TermsCheck): QuoteReason | undefined {
  const { authorization } = payment.payload
  if (!isDeepStrictEqual(payment.accepted, quotedRequirements(terms, operation))) return 'invalid_payment_requirements'
  if (authorization.to.toLowerCase() !== terms.payTo.toLowerCase())
    return 'invalid_exact_evm_payload_recipient_mismatch'
  if (authorization.value !== String(amountOf(terms, operation, terms.operations)))
    return 'invalid_exact_evm_payload_authorization_value_mismatch'
  return undefined
}

/** Whether a payment comes too late to be sold. It may have been settled earlier. */
export function isLate({ validBefore }: Pick<TransferAuthorization, 'validBefore'>, now: Date): boolean {
  return BigInt(validBefore) < secondsOf(now) + BigInt(SECONDS_LEFT_MIN)
}

/** The token accepts an authorization strictly between `validAfter` and `validBefore` (EIP-3009). */
export function checkTimes({ validAfter, validBefore }: TransferAuthorization, now: Date): QuoteReason | undefined {
  if (BigInt(validAfter) >= secondsOf(now)) return 'invalid_exact_evm_payload_authorization_valid_after'
  const latest = secondsOf(now) + BigInt(ACCEPTED_SECONDS_MAX)
  if (isLate({ validBefore }, now) || BigInt(validBefore) > latest)
    return 'invalid_exact_evm_payload_authorization_valid_before'
  return undefined
}

function secondsOf(time: Date): bigint {
  return BigInt(Math.floor(time.getTime() / 1000))
}

export function isErc6492(signature: string): boolean {
  return signature.toLowerCase().endsWith(ERC6492_SUFFIX)
}

/** Whether the key of the payer's address signed the authorization. Only the chain can check other signatures. */
export function isSignedByPayer({ payload }: Payment, terms: Terms): boolean {
  return recoverSigner(payload, terms) === payload.authorization.from.toLowerCase()
}

/** Standard clients copy the resource of the quote, `resourceUrl`, into the payment. */
export function namesAnotherResource(
  { resource }: Payment,
  { terms, operation, resourceUrl }: Omit<TermsCheck, 'payment'> & { resourceUrl: string },
): boolean {
  if (resource === undefined || resource.url === resourceUrl) return false
  return namesAnotherOperation(resource.url, operation, terms.operations)
}
