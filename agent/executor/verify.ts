/**
 * Step 8: asks the chain whether the payer can be a contract wallet and whether the nonce is unused, then the facilitator
 * whether the payment would settle. A used nonce, and a late payment, lead to a search for an earlier settlement.
 */
import type { Refused } from '../operation/outcome.ts'
import { verifyWithFacilitator } from '../payments/facilitator.ts'
import { checkTimes } from '../payments/payment-checks.ts'
import type { QuoteReason } from '../payments/quote.ts'
import { REORG_BLOCKS_MAX } from '../payments/range-search.ts'
import type { PaymentServices } from '../payments/services.ts'
import { findEarlierSettlement, type AlreadySettled, type SearchedPayment } from './earlier-settlement.ts'
import type { PayerCode } from './payer-code.ts'
import { refusePayment, type PaymentRefusal } from './sale-context.ts'

interface QuotedPayment extends SearchedPayment {
  payerCode: PayerCode
}

export interface Verified {
  kind: 'verified'
  /** No event of this payment is in an older block, because the nonce was unused after the head had been read. */
  fromBlock: bigint
  /** Identifies the chain, because no reorganisation changes this block. */
  fromBlockHash: string
}

/** The node or the facilitator did not answer. */
export interface Unanswered {
  kind: 'unanswered'
}

export async function verifyPayment(
  payments: PaymentServices,
  quoted: QuotedPayment,
): Promise<Verified | AlreadySettled | Refused | PaymentRefusal | Unanswered> {
  const { facilitator, timer, report, now } = payments
  const { requirements } = quoted
  const { payment } = quoted.checked
  const state = await readChain(payments, quoted).catch((cause: unknown) => report('chain_unavailable', cause))
  if (!state) return { kind: 'unanswered' }
  if (!state.canHaveSigned) return refusePayment('payment_rejected', 'invalid_exact_evm_payload_signature')
  // A used nonce without a record never buys an answer, even if the facilitator would accept it (contract 5.7.6).
  if (!state.isNonceFree) return findEarlierSettlement(payments, quoted)
  const verification = await verifyWithFacilitator({ facilitator, timer, payment, requirements })
  switch (verification.kind) {
    case 'verified': {
      // The remote calls took time, and settlement needs time too.
      const reason = checkTimes(payment.payload.authorization, now())
      if (reason) return refusePayment('payment_invalid', reason)
      const { fromBlock, fromBlockHash } = state
      return { kind: 'verified', fromBlock, fromBlockHash }
    }
    case 'refused':
      return (await mayBeUsed(payments, quoted, verification.reason))
        ? findEarlierSettlement(payments, quoted)
        : refusePayment('payment_rejected', verification.reason)
    case 'unclear':
      report('verification_unclear', verification.cause)
      return { kind: 'unanswered' }
  }
}

async function readChain({ chain }: PaymentServices, { checked, requirements, payerCode }: QuotedPayment) {
  const { authorization } = checked.payment.payload
  // Only a contract can accept a signature that its address did not make (ERC-1271). The facilitator then checks it.
  const canHaveSigned = checked.isProven || (await payerCode.read(chain, authorization.from))
  if (!canHaveSigned || checked.isLate) return { canHaveSigned, isNonceFree: false } as const
  const head = await chain.head()
  const fromBlock = head > REORG_BLOCKS_MAX ? head - REORG_BLOCKS_MAX : 0n
  const [isNonceFree, fromBlockHash] = await Promise.all([
    chain.isNonceFree({ asset: requirements.asset, authorization }),
    chain.blockHash(fromBlock),
  ])
  return { canHaveSigned, isNonceFree, fromBlock, fromBlockHash }
}

/** The node of the facilitator can be ahead of the one that showed the nonce as free, so it is read again. */
async function mayBeUsed(
  { chain, report }: PaymentServices,
  { checked, requirements: { asset } }: QuotedPayment,
  reason: QuoteReason,
): Promise<boolean> {
  if (reason === 'authorization_used') return true
  const { authorization } = checked.payment.payload
  const isFree = await chain
    .isNonceFree({ asset, authorization })
    .catch((cause: unknown) => report('chain_unavailable', cause))
  return isFree !== true
}
