/** Step 8: maps the checks of the chain and of the facilitator to the outcome of the request. */
import type { Refused } from '../operation/outcome.ts'
import type { SettlementServices } from '../settlement/services.ts'
import type { buildRequirements } from '../payments/terms.ts'
import { findEarlierSettlement, observeSale, verifySale, type SaleObservation } from '../settlement/verify-sale.ts'
import type { CheckedPayment } from './examine.ts'
import { clockWrong, outcomeUnknown, verificationUnavailable } from './record-outcome.ts'
import type { ReplayLimit } from './replay-limit.ts'
import { refusePayment, type PaymentRefusal } from './sale-context.ts'

interface QuotedPayment {
  checked: CheckedPayment
  requirements: ReturnType<typeof buildRequirements>
  searchLimit: ReplayLimit
  /** The network address of the client. */
  client: string
}

export interface Verified {
  kind: 'verified'
  /** No event of this payment is in an older block, because the nonce was free in a newer one. */
  fromBlock: bigint
  /** Identifies the chain, because no reorganisation changes this block. */
  fromBlockHash: string
}

/** The chain shows the transfer of this payment to the service. */
export interface AlreadySettled {
  kind: 'already_settled'
  transaction: string
}

/** Code, balance and nonce of the payer, before the facilitator is asked. */
export async function observePayment(
  payments: SettlementServices,
  quoted: QuotedPayment,
): Promise<SaleObservation | AlreadySettled | Refused | PaymentRefusal> {
  const observed = await observeSale(payments, { ...quoted.checked, requirements: quoted.requirements })
  return observed.kind === 'observed' ? observed : refuse(payments, quoted, observed)
}

export async function verifyPayment(
  payments: SettlementServices,
  quoted: QuotedPayment,
  observed: SaleObservation,
): Promise<Verified | AlreadySettled | Refused | PaymentRefusal> {
  const verified = await verifySale(payments, { ...quoted.checked, requirements: quoted.requirements }, observed)
  if (verified.kind !== 'verified') return refuse(payments, quoted, verified)
  const { number, hash } = observed.observation.anchor
  return { kind: 'verified', fromBlock: number, fromBlockHash: hash }
}

type Refusal = Exclude<Awaited<ReturnType<typeof findEarlierSettlement>>, AlreadySettled>

async function refuse(
  payments: SettlementServices,
  quoted: QuotedPayment,
  refusal: Refusal,
): Promise<AlreadySettled | Refused | PaymentRefusal> {
  switch (refusal.kind) {
    case 'unavailable':
      return verificationUnavailable()
    case 'clock_wrong':
      return clockWrong()
    case 'unknown':
      return outcomeUnknown()
    case 'refused':
      return refusePayment(refusal.code, refusal.reason)
    case 'maybe_settled':
      return search(payments, quoted)
  }
}

/** Reads the logs of the token, which is limited. A 402 would make the client sign a second payment. */
async function search(
  payments: SettlementServices,
  quoted: QuotedPayment,
): Promise<AlreadySettled | Refused | PaymentRefusal> {
  const { checked, requirements, searchLimit, client } = quoted
  const limited = searchLimit.enter(checked.identity, client)
  if (limited) return limited
  searchLimit.countForAll(client)
  const found = await findEarlierSettlement(payments, { ...checked, requirements })
  if (found.kind === 'already_settled') return found
  return found.kind === 'maybe_settled' ? outcomeUnknown() : refuse(payments, quoted, found)
}
