/** Step 3: answers a payment with a record from that record. Rate limit, readiness and newer snapshots do not apply. */
import type { ResponseRecord } from '../../store/record.ts'
import { refused } from '../operation/outcome.ts'
import type { PaymentBinding } from '../payments/binding.ts'
import { addMissingReceipt } from '../payments/receipts.ts'
import { decideReplay } from '../settlement/replay-decision.ts'
import { retry } from '../settlement/retry.ts'
import { isOpen, type Patience } from '../settlement/settle.ts'
import type { SettlementServices } from '../settlement/services.ts'
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
 * `replayLimit`, no limit applies.
 */
export async function replay(
  payments: SettlementServices,
  payment: ReplayedPayment,
  { patience, ...replayer }: { patience: Patience } & Partial<Replayer>,
): Promise<SaleResult | undefined> {
  return unknownIfFailed(payments.report, async () => {
    const record = await payments.log.read(payment.identity, payment.id)
    if (!record) return undefined
    // The payment id is not on chain. An observer does not know it, so every guess ends here.
    if (record.payment_id !== payment.id) return refused({ code: 'payment_replay_conflict' })
    const { replayLimit, client = '' } = record.payment_id === undefined ? replayer : {}
    const limited = replayLimit?.enter(record.identity, client)
    if (limited) return limited
    const bound = payment.parse()?.bind()
    if (!bound) return undefined
    if (decideReplay(record, bound) === 'conflict') replayLimit?.countForAll(client)
    return replayRecord(payments, record, { binding: bound, patience })
  })
}

/** Applies the replay table to the record. */
export async function replayRecord(
  payments: SettlementServices,
  record: ResponseRecord,
  { binding, patience }: { binding: PaymentBinding; patience: Patience },
): Promise<SaleResult> {
  const decision = decideReplay(record, binding)
  const deliver = async (current: ResponseRecord) =>
    recordOutcome(await addMissingReceipt(payments, current, binding.operation))
  switch (decision) {
    case 'conflict':
      return refused({ code: 'payment_replay_conflict' })
    case 'ask_chain': {
      const { record: current, waitMs } = await retry(payments, record, patience)
      return isOpen(current) ? outcomeUnknown(waitMs) : deliver(current)
    }
    case 'repeat':
    case 'refuse':
      return deliver(record)
    case 'sell':
      throw new Error('The replay table treats an existing record as new')
  }
}
