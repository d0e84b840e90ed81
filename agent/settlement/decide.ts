/**
 * Decides what happens to a record by what the chain shows of its payment. Two tables: what the evidence means, and what it
 * does to a record in each state. Pure, so that a sale, a retry, the reconciler and the operator decide alike.
 */
import type { RecordState, ResponseRecord } from '../../store/record.ts'
import type { NonceUse } from '../chain/chain.ts'
import type { TransferAuthorization } from '../payments/headers.ts'
import { SECONDS_LEFT_MIN } from '../payments/payment-checks.ts'
import { recordedPayment } from '../payments/recorded-payment.ts'
import { maySettleAgain } from './settlement-schedule.ts'

/** What an observation shows of one payment. */
export type Evidence =
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

interface Interpreted {
  evidence: Evidence
  authorization: TransferAuthorization
  requirements: { payTo: string; amount: string }
  now: Date
}

/** What the evidence means for the payment. */
export function interpretEvidence({ evidence, authorization, requirements, now }: Interpreted): Finding {
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
      // A nonce that is free in the newest block is also free in the final block before it.
      if (evidence.finalTime >= validBefore) return 'expired_final'
      const secondsLeft = validBefore - BigInt(Math.floor(now.getTime() / 1000))
      return secondsLeft >= SECONDS_LEFT_MIN ? 'free' : 'expiring'
    }
    case 'unread':
    case 'unclear':
      return 'unclear'
  }
}

/** Why a record is looked at. */
export type Cause =
  /** The request that has just tried to settle it. */
  | 'sale'
  /** A request that repeats the sale. */
  | 'retry'
  | 'reconciler'
  /** The command `payments recheck`. */
  | 'operator'

/** `settle` calls the facilitator again. `reopen` returns a settled record to `unknown`: the chain does not show it. */
export type Action = 'wait' | 'settle' | 'reopen' | 'refused' | 'settled' | 'confirmed' | 'rejected' | 'expired'

type ActionsByFinding = Record<Finding, Action>

const OPEN: ActionsByFinding = {
  paid: 'settled',
  paid_final: 'settled',
  spent: 'wait',
  spent_final: 'rejected',
  free: 'settle',
  expiring: 'wait',
  expired_final: 'expired',
  unclear: 'wait',
}
const ENDED = Object.fromEntries(FINDINGS.map((finding) => [finding, 'wait'])) as ActionsByFinding
/** A retry, or the operator, finds the transfer of a payment that seemed not to be paid. */
const VOID: ActionsByFinding = { ...ENDED, paid: 'settled', paid_final: 'settled' }

const ACTIONS: Record<RecordState, ActionsByFinding> = {
  prepared: OPEN,
  settling: OPEN,
  /** Settled without a retry: the client was told to keep the payment, and a transfer may be pending. */
  unknown: OPEN,
  /** Never settled again, because the buyer was told to sign again. A transfer that appears on chain still counts. */
  refused: { ...OPEN, free: 'wait' },
  settled: {
    paid: 'wait',
    paid_final: 'confirmed',
    spent: 'reopen',
    spent_final: 'reopen',
    free: 'reopen',
    expiring: 'reopen',
    expired_final: 'reopen',
    unclear: 'wait',
  },
  confirmed: ENDED,
  rejected: VOID,
  expired: VOID,
}

interface Decided {
  record: ResponseRecord
  evidence: Evidence
  now: Date
  cause: Cause
}

export function decide({ record, evidence, now, cause }: Decided): Action {
  const { payment, requirements } = recordedPayment(record)
  const { authorization } = payment.payload
  const finding = interpretEvidence({ evidence, authorization, requirements, now })
  const action = ACTIONS[record.state][finding]
  const isFree = finding === 'free' || finding === 'expiring'
  // A refusal ends the payment before anything is settled again.
  if (record.state === 'unknown' && record.refused_at !== undefined && isFree && cause !== 'operator')
    return isNewer(evidence, Date.parse(record.refused_at)) ? 'refused' : 'wait'
  switch (action) {
    case 'settle':
      return maySettle(cause, record, now) ? 'settle' : 'wait'
    case 'reopen':
      // A clock that was ahead may have stamped a time that no block reaches for weeks. It does not count.
      return cause === 'reconciler' && isNewer(evidence, notAfter(now, Date.parse(record.updated_at))) ? action : 'wait'
    case 'rejected':
    case 'expired':
      return cause === 'operator' ? 'wait' : action
    default:
      return action
  }
}

function maySettle(cause: Cause, record: ResponseRecord, now: Date): boolean {
  // Without a retry a buyer would pay for a response that may never be fetched.
  const isWanted = cause === 'retry' || (cause === 'reconciler' && record.state !== 'prepared')
  return isWanted && maySettleAgain(record, now)
}

/** A lagging node shows a nonce as free that was just used, so a free nonce counts only in a block after this time. */
function isNewer(evidence: Evidence, milliseconds: number): boolean {
  return evidence.nonce !== 'free' || Number(evidence.time) * 1000 > milliseconds
}

function notAfter(now: Date, milliseconds: number): number {
  return milliseconds > now.getTime() ? 0 : milliseconds
}

function isSameAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
