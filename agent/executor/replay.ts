/** Step 3: answers a payment with a record from that record. Rate limit, readiness and newer snapshots do not apply. */
import type { ResponseRecord } from '../../store/record.ts'
import { refused } from '../operation/outcome.ts'
import type { PaymentBinding } from '../payments/binding.ts'
import { reconcileForBuyer, reconsider } from '../payments/reconcile.ts'
import { decideReplay } from '../payments/replay-decision.ts'
import type { PaymentServices } from '../payments/services.ts'
import type { DecodedPayment } from './payment-decoder.ts'
import { recordOutcome, unknownIfFailed } from './record-outcome.ts'
import type { SaleResult } from './sale-context.ts'

/** A payment that can be compared with its record. */
export type ReplayedPayment = Pick<DecodedPayment, 'identity' | 'id' | 'parse'>

/** Undefined when the payment has no record or an invalid form. Only a payment that has a record is hashed here. */
export async function replay(payments: PaymentServices, payment: ReplayedPayment): Promise<SaleResult | undefined> {
  return unknownIfFailed(payments.report, async () => {
    const record = await payments.log.read(payment.identity, payment.id)
    const bound = record && payment.parse()
    return bound && replayRecord(payments, bound.bind(), record)
  })
}

/** Applies the replay table to the record. */
export async function replayRecord(
  payments: PaymentServices,
  binding: PaymentBinding,
  record: ResponseRecord,
): Promise<SaleResult> {
  const decision = decideReplay(record, binding)
  switch (decision) {
    case 'conflict':
      return refused({ code: 'payment_replay_conflict' })
    case 'ask_chain':
      return recordOutcome(await reconcileForBuyer(payments, record))
    case 'reconsider':
      return recordOutcome(await reconsider(payments, record))
    case 'repeat':
    case 'refuse':
      return recordOutcome(record)
    case 'sell':
      throw new Error('The replay table treats an existing record as new')
  }
}
