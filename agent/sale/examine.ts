/**
 * Step 7: checks terms, times, form, signature and resource of the payment, without a remote call.
 * Expensive checks come last, so that a forged payment costs little more than a quote (contract 6.1.2).
 */
import {
  checkTerms,
  checkTimes,
  isErc6492,
  isLate,
  isSignedByPayer,
  namesAnotherResource,
  type TermsCheck,
} from '../payment/payment-checks.ts'
import type { BoundPayment, DecodedPayment, GivenPayment } from './decode-payment.ts'
import { refusePayment, type PaymentRefusal } from './sale-context.ts'

/** A payment that passed the local checks. */
export interface CheckedPayment extends Omit<DecodedPayment, 'kind'>, BoundPayment {
  readonly kind: 'checked'
  /** Whether the key of the payer's address signed the payment. If not, only a contract wallet may have. */
  readonly isProven: boolean
  /** Whether the payment comes too late to be sold, and can only have been settled before (contract 5.7.12). */
  readonly isLate: boolean
}

interface ExamineOptions extends Omit<TermsCheck, 'outline'> {
  /** The resource URL of the quote. */
  resourceUrl: string
  now: Date
}

export function examine(payment: GivenPayment, options: ExamineOptions): CheckedPayment | PaymentRefusal {
  if (payment.kind === 'unreadable') return refusePayment('payment_invalid', payment.reason)
  const { authorization } = payment.outline.payload
  const isTooLate = isLate(authorization, options.now)
  const mismatch =
    checkTerms({ outline: payment.outline, ...options }) ??
    (isTooLate ? undefined : checkTimes(authorization, options.now))
  if (mismatch) return refusePayment('payment_invalid', mismatch)
  const whole = payment.parse()
  if (!whole) return refusePayment('payment_invalid', 'invalid_payload')
  const { signature } = whole.payment.payload
  if (isErc6492(signature)) return refusePayment('payment_invalid', 'invalid_exact_evm_payload_signature')
  const isProven = isSignedByPayer(whole.payment, options.terms)
  if (namesAnotherResource(whole.payment, options)) return refusePayment('payment_invalid', 'resource_mismatch')
  return { ...payment, ...whole, kind: 'checked', isProven, isLate: isTooLate }
}
