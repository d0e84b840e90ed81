/** Step 4: takes a slot of the shared rate limit. The kind of slot depends on the payment and its payer (contract 6.2). */
import type { Refused } from '../operation/outcome.ts'
import { payerKey } from '../payments/binding.ts'
import type { PaymentServices } from '../payments/services.ts'
import { isEoaSignature } from '../payments/signature.ts'
import type { DecodedPayment } from './payment-decoder.ts'
import type { RateLimit, Slot } from './rate-limit.ts'
import type { PaymentRefusal } from './sale-context.ts'

interface AdmissionContext {
  rateLimit: RateLimit
  payments: PaymentServices
}

/** Payers with a settled payment skip the trial quota, so failing payments from fresh keys cannot block them. */
export async function admit(
  examined: DecodedPayment | PaymentRefusal,
  { rateLimit, payments }: AdmissionContext,
): Promise<Slot | Refused> {
  if (examined.kind === 'payment_refused') return rateLimit.enter('unpaid')
  const payer = payerKey(examined.payment)
  // The signature of a contract wallet is longer and is checked by the facilitator only, so its payer is not proven yet.
  const isProven = isEoaSignature(examined.payment.payload.signature)
  const isKnown = isProven && !rateLimit.hasFailed(payer) && (await hasPaid(payments, payer))
  return isKnown ? rateLimit.enter('known', payer) : rateLimit.enter('trial')
}

/** If the log cannot be read, the payer is treated as new. */
async function hasPaid({ log, report }: PaymentServices, payer: string): Promise<boolean> {
  try {
    return await log.hasPaid(payer)
  } catch (cause) {
    report('payer_unknown', cause)
    return false
  }
}
