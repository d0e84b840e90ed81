/** Step 10: the answer and the intent to be paid for it, on disk before anything is sent. */
import type { ResponseRecord } from '../../store/record.ts'
import { requirementsOf } from '../payments/terms.ts'
import type { Offered } from './offers.ts'
import type { Purchase, Seller } from './seller.ts'
import type { Verified } from './verify.ts'

export interface Prepared {
  body: string
  snapshotId: string
}

/** The record that now holds the payment's place: this purchase's own unless another process came first. */
export async function claim(
  seller: Seller,
  purchase: Purchase,
  { offered, verified, prepared }: { offered: Offered; verified: Verified; prepared: Prepared },
): Promise<{ claimed: boolean; record: ResponseRecord }> {
  const now = seller.desk.now().toISOString()
  return seller.desk.log.claim({
    identity: offered.identity,
    ...(offered.id !== undefined && { payment_id: offered.id }),
    payment_hash: offered.hash,
    operation_digest: offered.digest,
    state: 'prepared',
    attempt: 1,
    payment: offered.payment,
    requirements: { ...requirementsOf(seller.terms, purchase.operation.operation) },
    from_block: String(verified.fromBlock),
    snapshot_id: prepared.snapshotId,
    body: prepared.body,
    payment_response: null,
    prepared_at: now,
    updated_at: now,
  })
}
