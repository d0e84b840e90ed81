/** Steps 6 and 7: checks presence, form, terms, times and signature of the payment, without a remote call. */
import { checkTerms, isSignedByPayer, type TermsCheck } from '../payments/payment-checks.ts'
import type { DecodedPayment, RequestPayment } from './payment-decoder.ts'
import { refusePayment, type PaymentRefusal } from './sale-context.ts'

export function examine(
  decoded: RequestPayment,
  expected: Omit<TermsCheck, 'payment'>,
): DecodedPayment | PaymentRefusal {
  if (decoded.kind === 'none') return refusePayment('payment_required', 'PAYMENT-SIGNATURE header is required')
  if (decoded.kind === 'unreadable') return refusePayment('payment_invalid', decoded.reason)
  const { payment } = decoded
  const mismatch = checkTerms({ payment, ...expected })
  if (mismatch) return refusePayment('payment_invalid', mismatch)
  if (!isSignedByPayer(payment, expected.terms))
    return refusePayment('payment_rejected', 'invalid_exact_evm_payload_signature')
  return decoded
}
