/** Step 10: stores the answer and the intent to settle. The facilitator is asked to settle only after that. */
import type { Claim } from '../../store/log/record.ts'
import { endsLate, type CheckedPayment } from '../payment/payment-checks.ts'
import type { PaymentServices } from '../settlement/services.ts'
import type { SaleStart } from '../settlement/settle.ts'

interface Sale {
  checked: CheckedPayment
  verified: { start: SaleStart; facilitator: string | undefined }
  prepared: { body: string; snapshotId: string }
}

export function storeClaim({ log, recentAttempts, now }: PaymentServices, sale: Sale): Promise<Claim> {
  const { checked, verified, prepared } = sale
  const preparedAt = now()
  const time = preparedAt.toISOString()
  const { anchor } = verified.start.observation
  return log.claim({
    identity: checked.identity,
    ...(checked.id !== undefined && { payment_id: checked.id }),
    ...checked.bind(),
    state: 'prepared',
    attempt: 1,
    settling_process: recentAttempts.process,
    payment: checked.payment,
    requirements: { ...checked.requirements },
    ...(endsLate(checked.payment.payload.authorization, preparedAt) && { keeps_sale: true }),
    ...(verified.facilitator !== undefined && { facilitator: verified.facilitator }),
    from_block: String(anchor.number),
    from_block_hash: anchor.hash,
    snapshot_id: prepared.snapshotId,
    body: prepared.body,
    payment_response: null,
    prepared_at: time,
    updated_at: time,
  })
}
