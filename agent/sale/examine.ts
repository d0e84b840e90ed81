/**
 * Step 7: checks the form of the payment, its terms, times, signature and resource, without a remote call.
 * Expensive checks come last, so that a forged payment costs little more than a quote (contract 6.1.1).
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
import { refusedPayment, type Refused } from '../operation/outcome.ts'
import type { DecodedPayment, SentPayment } from './decode-payment.ts'

/** A payment that passed the local checks. */
export interface CheckedPayment extends Omit<SentPayment, 'kind'> {
  readonly kind: 'checked'
  /** Whether the key of the payer's address signed the payment. If not, only a contract wallet may have. */
  readonly isProven: boolean
  /** Whether the payment comes too late to be sold, and can only have been settled before (contract 5.7.12). */
  readonly isLate: boolean
}

interface ExamineOptions extends Omit<TermsCheck, 'payment'> {
  /** The resource URL of the quote. */
  resourceUrl: string
  now: Date
}

export function examine(sent: DecodedPayment, options: ExamineOptions): CheckedPayment | Refused {
  if (sent.kind === 'unreadable') return refusedPayment('payment_invalid', sent.reason)
  const { payment } = sent
  const { authorization, signature } = payment.payload
  const isTooLate = isLate(authorization, options.now)
  const mismatch =
    checkTerms({ payment, ...options }) ?? (isTooLate ? undefined : checkTimes(authorization, options.now))
  if (mismatch) return refusedPayment('payment_invalid', mismatch)
  if (isErc6492(signature)) return refusedPayment('payment_invalid', 'invalid_exact_evm_payload_signature')
  const isProven = isSignedByPayer(payment, options.terms)
  if (namesAnotherResource(payment, options)) return refusedPayment('payment_invalid', 'resource_mismatch')
  return { ...sent, kind: 'checked', isProven, isLate: isTooLate }
}
