/**
 * The body of a payment conflict (409 with a `DataError`, contract 2.14), and the refusal of a settled payment that has
 * no record.
 */
import { noteUnrecorded } from '../../store/log/unrecorded.ts'
import { SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import { PAYMENT_CONFLICTS } from '../operation/refusal.ts'
import type { Operation } from '../operation/operation.ts'
import type { SettlementServices } from '../settlement/services.ts'
import { needsDataset } from '../answer/answers.ts'
import type { SaleContext } from './sale-context.ts'

/**
 * Names the data that would answer the operation. It does not come from the record, because a conflict must not tell
 * what the payment has bought.
 */
export function describeConflict(outcome: Refused, operation: Operation, { catalog, terms }: SaleContext): Refused {
  if (!PAYMENT_CONFLICTS.has(outcome.refusal.code)) return outcome
  const hasSyntheticCompany = terms.mode === 'testnet'
  // The catalogue names the snapshot also when the snapshot itself cannot be read.
  const retrieval = needsDataset(operation, { hasSyntheticCompany }) ? catalog.retrieval() : undefined
  if (retrieval) {
    const { source, snapshot_id } = retrieval
    return refused({ ...outcome.refusal, provenance: { source, snapshot_id } })
  }
  if (!hasSyntheticCompany) return refused({ code: 'dataset_unavailable' })
  return refused({ ...outcome.refusal, provenance: SYNTHETIC_PROVENANCE })
}

/**
 * Refuses a payment that was settled earlier and whose record is lost, removed or in another log (contract 5.7.12).
 * Lists it for the operator; a failure of the list does not change the answer.
 */
export async function refuseSettled(
  { log, now, report }: SettlementServices,
  identity: string,
  { transaction }: { transaction: string },
): Promise<Refused> {
  try {
    const isNew = await noteUnrecorded(log, { identity, transaction, found_at: now().toISOString() })
    if (isNew) report('payment_without_record', 'the chain shows a settlement that is not in the response log')
  } catch (cause) {
    report('unrecorded_payment_not_listed', cause)
  }
  return refused({ code: 'payment_already_settled' })
}
