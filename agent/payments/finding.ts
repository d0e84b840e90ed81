/** What the evidence from the chain means for a payment. */
import type { AuthorizationEvidence } from './chain.ts'
import type { TransferAuthorization } from './headers.ts'
import { SECONDS_LEFT_MIN } from './payment-checks.ts'

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
  /** The chain cannot be read or gives inconsistent answers. */
  'no_evidence',
] as const

export type Finding = (typeof FINDINGS)[number]

export interface EvidenceContext {
  evidence: AuthorizationEvidence
  authorization: TransferAuthorization
  requirements: { payTo: string; amount: string }
  now: Date
}

/** What the evidence means for the payment. */
export function interpretEvidence({ evidence, authorization, requirements, now }: EvidenceContext): Finding {
  switch (evidence.nonce) {
    case 'used': {
      const { from, to, value } = evidence.transfer
      const isPayment =
        isSameAddress(from, authorization.from) &&
        isSameAddress(to, requirements.payTo) &&
        value === BigInt(requirements.amount)
      if (isPayment) return evidence.isFinal ? 'paid_final' : 'paid'
      return evidence.isFinal ? 'spent_final' : 'spent'
    }
    case 'cancelled':
      return evidence.isFinal ? 'spent_final' : 'spent'
    case 'free': {
      const validBefore = BigInt(authorization.validBefore)
      if (evidence.finalTime >= validBefore) return 'expired_final'
      const secondsLeft = validBefore - BigInt(Math.floor(now.getTime() / 1000))
      return secondsLeft >= SECONDS_LEFT_MIN ? 'free' : 'expiring'
    }
    case 'unclear':
      return 'no_evidence'
  }
}

/** A lagging node shows a nonce as free that was just used, so a free nonce counts only in a block after this time. */
export function isNewerThan(evidence: AuthorizationEvidence, milliseconds: number): boolean {
  return evidence.nonce !== 'free' || Number(evidence.time) * 1000 > milliseconds
}

function isSameAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
