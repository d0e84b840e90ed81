/** Step 4: whether there is a place for a request in the shared limit, and as whose it is counted. */
import type { Refused } from '../operation/outcome.ts'
import { payerKey } from '../payments/binding.ts'
import { isPlain } from '../payments/signature.ts'
import type { Fault } from './examine.ts'
import type { Place } from './rate-limit.ts'
import type { Offered } from './offers.ts'
import type { Seller } from './seller.ts'

/** Who has paid before is no stranger: no number of failing payments from fresh keys stands in his way. */
export async function admit(seller: Seller, offered: Offered | Fault): Promise<Place | Refused> {
  const { rateLimit } = seller
  if (offered.kind === 'fault') return rateLimit.enter('unpaid')
  const payer = payerKey(offered.payment)
  if (!(await isKnown(seller, offered, payer))) return rateLimit.enter('trial')
  const place = rateLimit.enter('known')
  if ('kind' in place) return place
  return {
    ...place,
    failed() {
      rateLimit.distrusted.add(payer)
      place.failed()
    },
  }
}

/** Anybody can name a payer who has paid, so only a signature that we have recovered ourselves shows who asks. */
async function isKnown({ rateLimit, desk }: Seller, { payment }: Offered, payer: string): Promise<boolean> {
  if (!isPlain(payment.payload.signature) || rateLimit.distrusted.has(payer)) return false
  try {
    return await desk.log.hasPaid(payer)
  } catch (cause) {
    // A log that can't be read now makes strangers of all, and no sale fails of that.
    desk.report('payer_unknown', cause)
    return false
  }
}
