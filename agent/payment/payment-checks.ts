/**
 * Step 7: checks the terms, signature and resource of the payment, without a remote call. Expensive checks come last,
 * so that a forged payment costs little more than a quote (contract 6.1.1). Times by the local clock refuse nothing.
 */
import { isDeepStrictEqual } from 'node:util'
import type { PaymentRequirements } from '@x402/core/types'
import type { Operation } from '../operation/operation.ts'
import { refusedPayment, type PaymentRefused, type QuoteReason } from '../operation/outcome.ts'
import { namesAnotherOperation } from '../operation/resource.ts'
import type { DecodedPayload } from './binding.ts'
import type { Payment, TransferAuthorization } from './headers.ts'
import { recoverSigner } from './signature.ts'
import { unwrapSignature } from './wrapped-signature.ts'
import { isSameAddress } from './accounts.ts'
import { ACCEPTED_SECONDS_MAX, amountOf, buildRequirements, QUOTED_SECONDS_MAX, type Terms } from './terms.ts'

/** An authorization must outlive verification and settlement. */
const SECONDS_LEFT_MIN = 15

export interface CheckedPayment extends DecodedPayload {
  readonly kind: 'checked'
  readonly requirements: PaymentRequirements
  /** Whether the key of the payer's address signed the payment. If not, only a contract wallet may have. */
  readonly isSignedByPayer: boolean
  /** Whether its signature deploys the wallet of the payer (ERC-6492). */
  readonly deploysWallet: boolean
  /**
   * Whether its times are those of a payment that can be sold, by the local clock. Step 8 decides by the time of a
   * block.
   */
  readonly isTimely: boolean
  /** Whether it pays a former receiver, and can only have been settled before. */
  readonly isForFormerReceiver: boolean
}

interface Expected {
  terms: Terms
  operation: Operation
  resourceUrl: string
  now: Date
}

export function checkPayment(
  payload: DecodedPayload,
  { terms: current, operation, resourceUrl, now }: Expected,
): CheckedPayment | PaymentRefused {
  const { payment } = payload
  const { authorization, signature } = payment.payload
  const payTo = String(payment.accepted['payTo'])
  const isForFormerReceiver = current.formerReceivers.some((each) => isSameAddress(each, payTo))
  const terms = isForFormerReceiver ? { ...current, payTo } : current
  const requirements = buildRequirements(terms, amountOf(terms, operation))
  const mismatch = checkTerms(payment, requirements)
  if (mismatch) return refusedPayment('payment_invalid', mismatch.reason, mismatch)
  const unwrapped = unwrapSignature(signature)
  if (!unwrapped) return refusedPayment('payment_invalid', 'invalid_exact_evm_payload_signature')
  // Only the chain can check a signature that is not of the payer's key.
  const isSignedByPayer = isSameAddress(recoverSigner(payment.payload, terms), authorization.from)
  // Standard clients copy the resource of the quote into the payment.
  const { resource } = payment
  if (resource && resource.url !== resourceUrl && namesAnotherOperation(resource.url, operation, terms.operations))
    return refusedPayment('payment_invalid', 'resource_mismatch')
  const isTimely = checkTimes(authorization, now) === undefined
  const deploysWallet = unwrapped.deployment !== undefined
  return { ...payload, kind: 'checked', requirements, isSignedByPayer, deploysWallet, isTimely, isForFormerReceiver }
}

/** How a payment differs from the requirements of the quote. Undefined if it does not differ. */
function checkTerms(
  { accepted, payload }: Payment,
  requirements: PaymentRequirements,
): { reason: QuoteReason; field: string } | undefined {
  const { authorization } = payload
  const sent: Record<string, unknown> = toComparable(accepted)
  const quoted: Record<string, unknown> = toComparable(requirements)
  const names = Object.keys({ ...quoted, ...sent })
  const field = names.find((name) => !isDeepStrictEqual(sent[name], quoted[name]))
  // A member that the quote does not have is not named: it is input.
  if (field !== undefined)
    return { reason: 'invalid_payment_requirements', field: field in quoted ? field : 'accepted' }
  if (!isSameAddress(authorization.to, requirements.payTo))
    return { reason: 'invalid_exact_evm_payload_recipient_mismatch', field: 'payTo' }
  if (authorization.value !== requirements.amount)
    return { reason: 'invalid_exact_evm_payload_authorization_value_mismatch', field: 'amount' }
  return undefined
}

/** Addresses count in any case, and further members of `extra` do not. */
function toComparable(requirements: Record<string, unknown>) {
  const { name, version } = Object(requirements['extra']) as PaymentRequirements['extra']
  const lower = (value: unknown) => (typeof value === 'string' ? value.toLowerCase() : '')
  const [asset, payTo] = [lower(requirements['asset']), lower(requirements['payTo'])]
  return { ...requirements, asset, payTo, extra: { name, version } }
}

/** Whether a payment comes too late to be sold. It may have been settled earlier. */
export function isLate({ validBefore }: Pick<TransferAuthorization, 'validBefore'>, now: Date): boolean {
  return BigInt(validBefore) < secondsOf(now) + BigInt(SECONDS_LEFT_MIN)
}

/**
 * Why a payment cannot be sold at this time. The token accepts an authorization strictly between `validAfter` and
 * `validBefore` (EIP-3009).
 */
export function checkTimes(authorization: TransferAuthorization, now: Date): QuoteReason | undefined {
  const { validAfter, validBefore } = authorization
  if (BigInt(validAfter) >= secondsOf(now)) return 'invalid_exact_evm_payload_authorization_valid_after'
  if (isLate(authorization, now)) return 'invalid_exact_evm_payload_authorization_valid_before'
  const latest = secondsOf(now) + BigInt(ACCEPTED_SECONDS_MAX)
  return BigInt(validBefore) > latest ? 'authorization_ends_more_than_3600_seconds_ahead' : undefined
}

/** Whether a payment can be settled for longer than one of a client that follows the quote. */
export function endsLate({ validBefore }: Pick<TransferAuthorization, 'validBefore'>, now: Date): boolean {
  return BigInt(validBefore) > secondsOf(now) + BigInt(QUOTED_SECONDS_MAX)
}

function secondsOf(time: Date): bigint {
  return BigInt(Math.floor(time.getTime() / 1000))
}
