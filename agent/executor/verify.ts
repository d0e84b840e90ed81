/** Step 8: asks the facilitator whether the payment would settle, and notes where the chain stood before. */
import { refused, type Refused } from '../operation/outcome.ts'
import { verify } from '../payments/facilitator.ts'
import { requirementsOf } from '../payments/terms.ts'
import { askForPayment, type Offered, type Purchase, type Seller } from './seller.ts'

/** How deep a reorganisation may move a transaction to an earlier block than the head we noted. */
const REORG_BLOCKS_MAX = 64n

const RETRY_AFTER_SECONDS = 5

export interface Verified {
  kind: 'verified'
  /** No log of this payment can be in an older block. Read before verification found the nonce free. */
  fromBlock: bigint
}

export async function verifyPayment(
  seller: Seller,
  purchase: Purchase,
  { payment }: Offered,
): Promise<Verified | Refused> {
  const { facilitator, chain, report } = seller.desk
  const head = await chain.head().catch((cause: unknown) => report('chain_unavailable', cause))
  if (head === undefined) return unavailable()
  const requirements = requirementsOf(seller.terms, purchase.operation.operation)
  const verification = await verify({ facilitator, payment, requirements })
  switch (verification.kind) {
    case 'verified':
      return { kind: 'verified', fromBlock: head > REORG_BLOCKS_MAX ? head - REORG_BLOCKS_MAX : 0n }
    case 'refused':
      return askForPayment(seller, purchase, 'payment_rejected', verification.reason)
    case 'unclear':
      report('verification_unclear', verification.cause)
      return unavailable()
  }
}

function unavailable(): Refused {
  return refused({ code: 'payment_verification_unavailable', retryAfterSeconds: RETRY_AFTER_SECONDS })
}
