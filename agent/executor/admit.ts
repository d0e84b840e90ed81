/** Step 4: whether there is a place for a request in the shared limit, and as whose it is counted. */
import type { Refused } from '../operation/outcome.ts'
import { payerKey } from '../payments/binding.ts'
import type { Fault } from './examine.ts'
import type { Place } from './rate-limit.ts'
import type { Offered, Seller } from './seller.ts'

/** Who has paid before is no stranger: no number of failing payments from fresh keys stands in his way. */
export async function admit({ rateLimit, desk }: Seller, offered: Offered | Fault): Promise<Place | Refused> {
  if (offered.kind === 'fault') return rateLimit.enter('unpaid')
  // A log that can't be read now makes strangers of all, and no sale fails of that.
  const isKnown = await desk.log.hasPaid(payerKey(offered.payment)).catch((cause: unknown) => {
    desk.report('payer_unknown', cause)
    return false
  })
  return rateLimit.enter(isKnown ? 'paid' : 'trial')
}
