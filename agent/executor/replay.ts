/** Step 3: answers a payment with a record from that record. Rate limit, readiness and newer snapshots do not apply. */
import type { ResponseRecord } from '../../store/record.ts'
import { refused } from '../operation/outcome.ts'
import type { PaymentBinding } from '../payments/binding.ts'
import { reconcileForBuyer, reconsider } from '../payments/reconcile.ts'
import { addMissingReceipt } from '../payments/receipts.ts'
import { decideReplay } from '../payments/replay-decision.ts'
import type { PaymentServices } from '../payments/services.ts'
import type { DecodedPayment } from './payment-decoder.ts'
import type { ReplayLimit } from './replay-limit.ts'
import { outcomeUnknown, recordOutcome, unknownIfFailed } from './record-outcome.ts'
import type { SaleResult } from './sale-context.ts'

/** A payment that can be compared with its record. */
export type ReplayedPayment = Pick<DecodedPayment, 'identity' | 'id' | 'parse'>

interface Replayer {
  replayLimit: ReplayLimit
  /** The address of the client. */
  client: string
}

/**
 * Undefined when the payment has no record or an invalid form. Only a payment that has a record is hashed here. Without a
 * `replayer`, no limit applies.
 */
export async function replay(
  payments: PaymentServices,
  payment: ReplayedPayment,
  replayer?: Replayer,
): Promise<SaleResult | undefined> {
  return unknownIfFailed(payments.report, async () => {
    const record = await payments.log.read(payment.identity, payment.id)
    if (!record) return undefined
    // The payment id is not on chain. An observer does not know it, so every guess ends here.
    if (record.payment_id !== payment.id) return refused({ code: 'payment_replay_conflict' })
    const limit = record.payment_id === undefined ? replayer : undefined
    const limited = limit?.replayLimit.enter(record.identity, limit.client)
    if (limited) return limited
    const bound = payment.parse()?.bind()
    if (!bound) return undefined
    if (limit && decideReplay(record, bound) === 'conflict') limit.replayLimit.countForAll(limit.client)
    return replayRecord(payments, bound, record)
  })
}

/** Applies the replay table to the record. */
export async function replayRecord(
  payments: PaymentServices,
  binding: PaymentBinding,
  record: ResponseRecord,
): Promise<SaleResult> {
  const decision = decideReplay(record, binding)
  const deliver = async (current: ResponseRecord) =>
    recordOutcome(await addMissingReceipt(payments, current, binding.operation))
  switch (decision) {
    case 'conflict':
      return refused({ code: 'payment_replay_conflict' })
    case 'ask_chain': {
      const waitMs = payments.readings.waitMs(record.identity)
      if (waitMs > 0) return outcomeUnknown(waitMs)
      return deliver(await reconcileForBuyer(payments, record))
    }
    case 'reconsider':
      return deliver(await reconsider(payments, record))
    case 'repeat':
    case 'refuse':
      return deliver(record)
    case 'sell':
      throw new Error('The replay table treats an existing record as new')
  }
}
