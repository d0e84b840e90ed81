/** Step 3: what a payment that is on record gets. Also the last step: what a record has come to, as an outcome. */
import type { ResponseRecord } from '../../store/record.ts'
import { refused, type Outcome, type Refused } from '../operation/outcome.ts'
import { reconcileForBuyer } from '../payments/reconcile.ts'
import { decideReplay } from '../payments/replay.ts'
import type { Offered } from './offers.ts'
import { askForPayment, type Purchase, type Seller } from './seller.ts'

/** How soon asking again about an unknown outcome can help. */
const RETRY_AFTER_SECONDS = 5

/** Undefined when the payment is new. No rate limit, no readiness and no newer snapshot stand before this. */
export async function recall(seller: Seller, purchase: Purchase): Promise<Outcome | undefined> {
  const { offer } = purchase
  if (offer.kind !== 'payment') return undefined
  return orUnknown(seller, async () => {
    const record = await seller.desk.log.read(offer.identity, offer.id)
    return record && follow(seller, purchase, { offered: offer, record })
  })
}

/**
 * Where a payment is on record, or can't be looked for, money may have moved. So whatever fails there is an open outcome
 * and no ordinary error, after which stock clients begin anew with another signature.
 */
export async function orUnknown<T>(seller: Seller, work: () => Promise<T>): Promise<T | Refused> {
  try {
    return await work()
  } catch (cause) {
    seller.desk.report('sale_failed', cause)
    return outcomeUnknown()
  }
}

/** Does what the replay table says of this record. */
export async function follow(
  seller: Seller,
  purchase: Purchase,
  { offered, record }: { offered: Offered; record: ResponseRecord },
): Promise<Outcome> {
  const decision = decideReplay(record, { payment_hash: offered.hash, operation_digest: offered.digest })
  switch (decision) {
    case 'conflict':
      return refused({ code: 'payment_replay_conflict' })
    case 'ask_chain':
      return outcomeOf(seller, purchase, await reconcileForBuyer(seller.desk, record))
    case 'repeat':
    case 'refuse':
      return outcomeOf(seller, purchase, record)
    case 'sell':
      throw new Error('A record exists that the replay table does not know')
  }
}

/** The outcome of a purchase whose record has come to rest, or has not. */
export function outcomeOf(seller: Seller, purchase: Purchase, record: ResponseRecord): Outcome {
  switch (record.state) {
    case 'settled':
    case 'confirmed':
      seller.offers.remember(purchase.paymentHeaders, purchase.operation, purchase.offer)
      return answerOf(record)
    case 'refused':
    case 'rejected':
      return askForPayment(seller, purchase, 'payment_failed', 'settlement_refused')
    case 'expired':
      return askForPayment(seller, purchase, 'payment_failed', 'authorization_expired')
    case 'prepared':
    case 'settling':
    case 'unknown':
      return outcomeUnknown()
  }
}

export function outcomeUnknown(): Refused {
  return refused({ code: 'payment_outcome_unknown', retryAfterSeconds: RETRY_AFTER_SECONDS })
}

function answerOf({ body, payment_response, identity, payment_hash }: ResponseRecord): Outcome {
  if (payment_response === null) throw new Error('A settled record has no settlement')
  return { kind: 'answer', body, paymentResponse: payment_response, purchaseKey: `${identity} ${payment_hash}` }
}
