/** Steps 6 and 7: whether there is a payment, and whether its form, terms, times and signature are the quoted ones. */
import { checkTerms, isSignedByPayer } from '../payments/authorization.ts'
import type { Reason } from '../payments/quote.ts'
import type { Offered } from './offers.ts'
import type { Purchase, Seller } from './seller.ts'

/** Why a payment can't be taken, without anybody having been asked. */
export interface Fault {
  kind: 'fault'
  code: 'payment_required' | 'payment_invalid' | 'payment_rejected'
  reason: Reason
}

export function examine(seller: Seller, purchase: Purchase): Offered | Fault {
  const { offer, operation, resourceUrl } = purchase
  if (offer.kind === 'none') return fault('payment_required', 'PAYMENT-SIGNATURE header is required')
  if (offer.kind === 'unreadable') return fault('payment_invalid', offer.reason)
  const { terms, desk } = seller
  const mismatch = checkTerms({ payment: offer.payment, terms, operation, resourceUrl, now: desk.now() })
  if (mismatch) return fault('payment_invalid', mismatch)
  return isSignedByPayer(offer.payment, terms)
    ? offer
    : fault('payment_rejected', 'invalid_exact_evm_payload_signature')
}

function fault(code: Fault['code'], reason: Reason): Fault {
  return { kind: 'fault', code, reason }
}
