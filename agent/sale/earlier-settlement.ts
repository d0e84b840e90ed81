/** Lists a payment that was settled earlier and whose record is lost, removed or in another log (contract 5.7.12). */
import { refused, type Refused } from '../operation/outcome.ts'
import type { SettlementServices } from '../settlement/memory.ts'
import type { AlreadySettled } from './verify.ts'

/** Lists the payment for the operator, and refuses it. A failure of the list does not change the answer. */
export async function refuseSettled(
  { log, now, report }: SettlementServices,
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
