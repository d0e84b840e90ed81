/** What an observation of the chain means for one payment. Pure. */
import type { NonceUse } from '../chain/chain.ts'
import type { TransferAuthorization } from '../payment/headers.ts'
import { isLate } from '../payment/payment-checks.ts'

/** The nonce of a payment, as an observation shows it. */
export type NonceState =
  /** In a block at `time`. `finalTime` is that of the newest final block, 0 if it was not observed. Both in seconds. */
  | { nonce: 'free'; time: bigint; finalTime: bigint }
  | NonceUse
  /** Used, by what was not read. */
  | { nonce: 'unread' }

export const FINDINGS = [
  /** The nonce was used by Transfer(payer, payTo, amount). Any account may have sent the transaction. */
  'paid',
  /** `paid` in a final block. */
  'paid_final',
  /** The nonce was cancelled or used by another transfer. A reorganisation could still undo that. */
  'spent',
  /** `spent` in a final block. */
  'spent_final',
  /** The nonce is free, and there is enough time to settle. */
  'free',
  /** The nonce is free and it is too late to settle, but no final block is past `validBefore`. */
  'expiring',
  /** The nonce is free in a final block past `validBefore`, so it can never be used. */
  'expired_final',
  /** The chain gives no answer that counts. */
  'unclear',
] as const

export type Finding = (typeof FINDINGS)[number]

interface ObservedNonce {
  nonceState: NonceState
  authorization: TransferAuthorization
  requirements: { payTo: string; amount: string }
  now: Date
}

export function interpretNonce({ nonceState, authorization, requirements, now }: ObservedNonce): Finding {
  switch (nonceState.nonce) {
    case 'used': {
      const { from, to, value } = nonceState.transfer
      const isPayment =
        isSameAddress(from, authorization.from) &&
        isSameAddress(to, requirements.payTo) &&
        value === BigInt(requirements.amount)
      if (isPayment) return nonceState.isFinal ? 'paid_final' : 'paid'
      return nonceState.isFinal ? 'spent_final' : 'spent'
    }
    case 'cancelled':
      return nonceState.isFinal ? 'spent_final' : 'spent'
    case 'free':
      // A nonce that is free in the newest block is also free in the final block before it.
      if (nonceState.finalTime >= BigInt(authorization.validBefore)) return 'expired_final'
      return isLate(authorization, now) ? 'expiring' : 'free'
    case 'unread':
    case 'unclear':
      return 'unclear'
  }
}

function isSameAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
