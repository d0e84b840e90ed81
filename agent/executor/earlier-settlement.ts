/**
 * Finds the settlement of a payment whose record is lost, removed or in another log. The chain alone decides. A 402 would make
 * the client sign a second payment, so everything unclear is 503 (contract 5.7.15).
 */
import { WEIGHTS, type RequestBudget } from '../limits/address-budget.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import { interpretEvidence } from '../payments/finding.ts'
import type { PaymentServices } from '../payments/services.ts'
import type { buildRequirements } from '../payments/terms.ts'
import type { CheckedPayment } from './examine.ts'
import { outcomeUnknown, verificationUnavailable } from './record-outcome.ts'
import { refusePayment, type PaymentRefusal } from './sale-context.ts'

export interface SearchedPayment {
  checked: CheckedPayment
  requirements: ReturnType<typeof buildRequirements>
  /** Pays for the search. */
  budget: RequestBudget
}

/** The chain shows the transfer of this payment to the service. */
export interface AlreadySettled {
  kind: 'already_settled'
  transaction: string
}

/** For a payment without a record whose nonce is used or that comes too late to be sold. */
export async function findEarlierSettlement(
  { chain, now, report }: PaymentServices,
  { checked, requirements, budget }: SearchedPayment,
): Promise<AlreadySettled | Refused | PaymentRefusal | { kind: 'unanswered' }> {
  const limited = budget.spend(WEIGHTS.search)
  if (limited) return limited
  const { authorization } = checked.payment.payload
  const evidence = await chain
    .evidence({ asset: requirements.asset, authorization })
    .catch((cause: unknown) => report('chain_unavailable', cause))
  if (!evidence) return { kind: 'unanswered' }
  if (evidence.nonce === 'free') {
    // Only a block past `validBefore` shows that the nonce stays free. An older one can be that of a node that lags.
    const isOver = evidence.time >= BigInt(authorization.validBefore)
    return checked.isLate && isOver
      ? refusePayment('payment_invalid', 'invalid_exact_evm_payload_authorization_valid_before')
      : verificationUnavailable()
  }
  const finding = interpretEvidence({ evidence, authorization, requirements, now: now() })
  if (finding === 'spent' || finding === 'spent_final') return refusePayment('payment_rejected', 'authorization_used')
  if (evidence.nonce !== 'used') return outcomeUnknown()
  return { kind: 'already_settled', transaction: evidence.transfer.transaction }
}

/** Lists the payment for the operator, and refuses it. A failure of the list does not change the answer. */
export async function refuseSettled(
  { log, now, report }: PaymentServices,
  identity: string,
  { transaction }: AlreadySettled,
): Promise<Refused> {
  try {
    const result = await log.noteUnrecorded({ identity, transaction, found_at: now().toISOString() })
    if (result === 'added')
      report('payment_without_record', 'the chain shows a settlement that is not in the response log')
    if (result === 'full') report('unrecorded_payment_not_listed', 'the list is full')
  } catch (cause) {
    report('unrecorded_payment_not_listed', cause)
  }
  return refused({ code: 'payment_already_settled' })
}
