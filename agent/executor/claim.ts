/** Step 10: stores the answer and the intent to settle. The facilitator is asked to settle only after that. */
import type { ResponseRecord } from '../../store/record.ts'
import type { PaymentServices } from '../payments/services.ts'
import type { buildRequirements } from '../payments/terms.ts'
import type { DecodedPayment } from './payment-decoder.ts'
import type { Verified } from './verify.ts'

interface Purchase {
  decoded: DecodedPayment
  requirements: ReturnType<typeof buildRequirements>
  verified: Verified
  prepared: { body: string; snapshotId: string }
}

/** If another process claimed the payment first, `claimed` is false and `record` is the record of that process. */
export function claim(
  { log, now }: PaymentServices,
  { decoded, requirements, verified, prepared }: Purchase,
): Promise<{ claimed: boolean; record: ResponseRecord }> {
  const time = now().toISOString()
  return log.claim({
    identity: decoded.identity,
    ...(decoded.id !== undefined && { payment_id: decoded.id }),
    payment_hash: decoded.hash,
    operation_digest: decoded.digest,
    state: 'prepared',
    attempt: 1,
    payment: decoded.payment,
    requirements: { ...requirements },
    from_block: String(verified.fromBlock),
    snapshot_id: prepared.snapshotId,
    body: prepared.body,
    payment_response: null,
    prepared_at: time,
    updated_at: time,
  })
}
