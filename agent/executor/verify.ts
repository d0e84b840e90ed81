/** Step 8: asks the chain whether the nonce is free, and the facilitator whether the payment would settle. */
import { refused, type Refused } from '../operation/outcome.ts'
import { checkTimes } from '../payments/authorization.ts'
import { verify } from '../payments/facilitator.ts'
import type { Payment } from '../payments/headers.ts'
import { requirementsOf } from '../payments/terms.ts'
import type { Offered } from './offers.ts'
import { askForPayment, type Purchase, type Seller } from './seller.ts'

/** How deep a reorganisation may move a transaction to an earlier block than the head we noted. */
const REORG_BLOCKS_MAX = 64n

const RETRY_AFTER_SECONDS = 5

export interface Verified {
  kind: 'verified'
  /** No log of this payment can be in an older block: the nonce was still free after this head was read. */
  fromBlock: bigint
}

export async function verifyPayment(
  seller: Seller,
  purchase: Purchase,
  { payment }: Offered,
): Promise<Verified | Refused> {
  const { facilitator, timer, report } = seller.desk
  const requirements = requirementsOf(seller.terms, purchase.operation.operation)
  const state = await readState(seller, payment).catch((cause: unknown) => report('chain_unavailable', cause))
  if (!state) return unavailable()
  // Our own look: nothing is sold for a nonce that was used where we have no record of it, whatever a facilitator says.
  if (!state.isNonceFree) return askForPayment(seller, purchase, 'payment_rejected', 'authorization_used')
  const verification = await verify({ facilitator, timer, payment, requirements })
  switch (verification.kind) {
    case 'verified':
      return (
        checkAgain(seller, purchase, payment) ?? {
          kind: 'verified',
          fromBlock: state.head > REORG_BLOCKS_MAX ? state.head - REORG_BLOCKS_MAX : 0n,
        }
      )
    case 'refused':
      return askForPayment(seller, purchase, 'payment_rejected', verification.reason)
    case 'unclear':
      report('verification_unclear', verification.cause)
      return unavailable()
  }
}

/** Those who were asked may have taken their time, and a settlement needs some, too. */
function checkAgain(seller: Seller, purchase: Purchase, { payload }: Payment): Refused | undefined {
  const reason = checkTimes(payload.authorization, seller.desk.now())
  return reason && askForPayment(seller, purchase, 'payment_invalid', reason)
}

async function readState({ desk: { chain }, terms }: Seller, { payload }: Payment) {
  const head = await chain.head()
  return { head, isNonceFree: await chain.isNonceFree({ asset: terms.asset, authorization: payload.authorization }) }
}

function unavailable(): Refused {
  return refused({ code: 'payment_verification_unavailable', retryAfterSeconds: RETRY_AFTER_SECONDS })
}
