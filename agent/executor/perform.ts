/**
 * One paid request, top to bottom, the same for REST and A2A: a line a step, numbered as in the contract.
 *
 * Steps 1 and 2 (method, size, type, input rules) are the doors' business; what comes here is a valid operation. The
 * order of the rest is what makes it safe: nothing is asked of others before the cheap checks, nothing is settled before
 * the answer is on disk, and a payment on record never passes the checks again.
 */
import type { Outcome, Refused } from '../operation/outcome.ts'
import { settleBegun } from '../payments/settle.ts'
import { prepareAnswer } from '../skills/skills.ts'
import { admit } from './admit.ts'
import { examine } from './examine.ts'
import type { Place } from './rate-limit.ts'
import { checkReadiness } from './readiness.ts'
import { claim } from './record.ts'
import { follow, orUnknown, outcomeOf, outcomeUnknown, recall } from './recover.ts'
import { askForPayment, openPurchase, shelfOf, type Order, type Purchase, type Seller } from './seller.ts'
import { verifyPayment } from './verify.ts'

export async function perform(seller: Seller, order: Order): Promise<Outcome> {
  const purchase = openPurchase(seller, order)
  const { offer } = purchase
  // One payment is worked on by one request at a time: of twenty equal ones, one settles and nineteen find its record.
  return offer.kind === 'payment'
    ? seller.turns.run(offer.identity, () => sell(seller, purchase), outcomeUnknown)
    : sell(seller, purchase)
}

async function sell(seller: Seller, purchase: Purchase): Promise<Outcome> {
  const stored = await recall(seller, purchase) // 3. replay
  if (stored) return stored

  const offered = examine(seller, purchase) // what 6 and 7 will say; 4 depends on it
  const place = await admit(seller, offered) // 4. shared rate limit
  if ('kind' in place) return place

  const unready = checkReadiness(seller, purchase) // 5. dataset
  if (unready) {
    place.leave()
    return unready
  }

  if (offered.kind === 'fault') return askForPayment(seller, purchase, offered.code, offered.reason) // 6. quote, 7. terms

  const verified = await verifyPayment(seller, purchase, offered) // 8. facilitator.verify
  if (verified.kind === 'refused') return unlessSold(seller, purchase, { place, refusal: verified })

  const prepared = prepareAnswer(purchase.operation, shelfOf(seller)) // 9. the answer
  if (prepared.kind === 'refused') return unlessSold(seller, purchase, { place, refusal: prepared })

  const full = place.paid() // 4 once more, now that it is known to pay
  if (full) {
    place.leave()
    return full
  }

  return orUnknown(seller, async () => {
    const { claimed, record } = await claim(seller, purchase, { offered, verified, prepared }) // 10. on disk
    if (!claimed) {
      place.leave()
      return follow(seller, purchase, { offered, record })
    }

    const settled = await settleBegun(seller.desk, record) // 11. settle, 12. on disk
    return outcomeOf(seller, purchase, settled) // 13. the answer
  })
}

/** Another process may have sold for it meanwhile: then the nonce is used because it was paid, and the answer is on record. */
async function unlessSold(
  seller: Seller,
  purchase: Purchase,
  { place, refusal }: { place: Place; refusal: Refused },
): Promise<Outcome> {
  const stored = await recall(seller, purchase)
  if (stored) place.leave()
  else place.failed()
  return stored ?? refusal
}
