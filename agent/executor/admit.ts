/** Step 4: takes a slot of the shared rate limit. The kind of slot depends on the payer (contract 6.2). */
import type { Refused } from '../operation/outcome.ts'
import { payerKey } from '../payments/binding.ts'
import type { SettlementServices } from '../settlement/services.ts'
import type { CheckedPayment } from './examine.ts'
import type { RateLimit, Slot } from './rate-limit.ts'

interface AdmissionContext {
  rateLimit: RateLimit
  payments: SettlementServices
}

/** Payers with a settled payment skip the trial quota, so failing payments from fresh keys cannot block them. */
export async function admit(
  checked: CheckedPayment,
  { rateLimit, payments }: AdmissionContext,
): Promise<Slot | Refused> {
  const payer = payerKey(checked.payment)
  // Anyone can name a contract wallet as the payer. Only the facilitator can check its signature.
  // Anyone can read a late payment on the chain and send it, so it counts as one of a new payer.
  const isOwn = checked.isProven && !checked.isLate
  const isKnown = isOwn && !rateLimit.hasFailed(payer) && (await hasPaid(payments, payer))
  return isKnown ? rateLimit.enter('known', payer) : rateLimit.enter('trial')
}

/** If the log cannot be read, the payer is treated as new. */
async function hasPaid({ log, report }: SettlementServices, payer: string): Promise<boolean> {
  try {
    return await log.hasPaid(payer)
  } catch (cause) {
    report('payer_unknown', cause)
    return false
  }
}
