/** Step 3: answers a payment with a record from that record. Rate limit, readiness and newer snapshots do not apply. */
import type { ResponseRecord } from '../../store/record.ts'
import { refused } from '../operation/outcome.ts'
import { reconcileForBuyer } from '../payments/reconcile.ts'
import { decideReplay } from '../payments/replay-decision.ts'
import type { PaymentServices } from '../payments/services.ts'
import type { DecodedPayment } from './payment-decoder.ts'
import { recordOutcome, unknownIfFailed } from './record-outcome.ts'
import type { SaleResult } from './sale-context.ts'

/** Undefined when the payment has no record. */
export async function replay(payments: PaymentServices, decoded: DecodedPayment): Promise<SaleResult | undefined> {
  return unknownIfFailed(payments.report, async () => {
    const record = await payments.log.read(decoded.identity, decoded.id)
    return record && replayRecord(payments, decoded, record)
  })
}

/** Applies the replay table to the record. */
export async function replayRecord(
  payments: PaymentServices,
  { hash, digest }: DecodedPayment,
  record: ResponseRecord,
): Promise<SaleResult> {
  const decision = decideReplay(record, { payment_hash: hash, operation_digest: digest })
  switch (decision) {
    case 'conflict':
      return refused({ code: 'payment_replay_conflict' })
    case 'ask_chain':
      return recordOutcome(await reconcileForBuyer(payments, record))
    case 'repeat':
    case 'refuse':
      return recordOutcome(record)
    case 'sell':
      throw new Error('The replay table treats an existing record as new')
  }
}
