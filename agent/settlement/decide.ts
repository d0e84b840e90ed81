/**
 * Decides what happens to a record by what the chain shows of its payment. Pure, so that a sale, a retry, the
 * reconciler and the operator decide alike.
 */
import type { RecordState, ResponseRecord } from '../../store/log/record.ts'
import type { NonceUse } from './chain/chain.ts'
import type { TransferAuthorization } from '../payment/headers.ts'
import { isLate } from '../payment/payment-checks.ts'
import { recordedPayment } from '../payment/recorded-payment.ts'
import { isSameAddress } from '../payment/accounts.ts'

/**
 * Limits what retries of one buyer cost the facilitator. After that only the chain ends the record (contract 5.7.11).
 */
const SETTLEMENTS_MAX = 20
/** The time from the start of one settlement to the next one. It doubles with each settlement (contract 5.7.11). */
const DELAY_FIRST_MS = 5_000
/** A tenth of the lifetime of an authorization, so that a facilitator that recovers is soon asked again. */
const DELAY_MAX_MS = 30_000
/** A transaction that reverts costs the relayer gas. One revert can be caused by the state of a single block. */
const REVERTS_MAX = 2

/** The nonce of a payment, as an observation shows it. */
export type NonceState =
  /** In a block at `time`. `finalTime` is that of the newest final block, 0 if it was not observed. Both in seconds. */
  | { nonce: 'free'; time: bigint; finalTime: bigint }
  | NonceUse
  /** Used, but the transfer or cancellation was not read. */
  | { nonce: 'unread' }

export const CHAIN_STATUSES = [
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

type ChainStatus = (typeof CHAIN_STATUSES)[number]

interface ObservedNonce {
  nonceState: NonceState
  authorization: TransferAuthorization
  requirements: { payTo: string; amount: string }
  now: Date
}

export function interpretNonce({ nonceState, authorization, requirements, now }: ObservedNonce): ChainStatus {
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

/** What triggered the decision: a request of the buyer or the operator, or the reconciler. */
export type Cause = 'request' | 'reconciler'

/** `settle` calls the facilitator again. `reopen` returns a settled record to `unknown`: the chain does not show it. */
export type Action = 'wait' | 'settle' | 'reopen' | 'refused' | 'settled' | 'confirmed' | 'rejected' | 'expired'

type ActionsByChainStatus = Record<ChainStatus, Action>

const OPEN: ActionsByChainStatus = {
  paid: 'settled',
  paid_final: 'settled',
  spent: 'wait',
  spent_final: 'rejected',
  free: 'settle',
  expiring: 'wait',
  expired_final: 'expired',
  unclear: 'wait',
}
const SETTLED: ActionsByChainStatus = {
  paid: 'wait',
  paid_final: 'confirmed',
  spent: 'reopen',
  spent_final: 'reopen',
  free: 'reopen',
  expiring: 'reopen',
  expired_final: 'reopen',
  unclear: 'wait',
}
const ENDED = Object.fromEntries(CHAIN_STATUSES.map((chainStatus) => [chainStatus, 'wait'])) as ActionsByChainStatus
/** A retry, or the operator, finds the transfer of a payment that seemed not to be paid. */
const VOID: ActionsByChainStatus = { ...ENDED, paid: 'settled', paid_final: 'settled' }

const ACTIONS: Record<RecordState, ActionsByChainStatus> = {
  prepared: OPEN,
  settling: OPEN,
  /** Settled without a retry: the client was told to keep the payment, and a transfer may be pending. */
  unknown: OPEN,
  /** Never settled again, because the buyer was told to sign again. A transfer that appears on chain still counts. */
  refused: { ...OPEN, free: 'wait' },
  settled: SETTLED,
  confirmed: ENDED,
  rejected: VOID,
  expired: VOID,
}

interface Decided {
  record: ResponseRecord
  nonceState: NonceState
  now: Date
  cause: Cause
}

export function decide({ record, nonceState, now, cause }: Decided): Action {
  const { payment, requirements } = recordedPayment(record)
  const chainStatus = interpretNonce({ nonceState, authorization: payment.payload.authorization, requirements, now })
  const action = ACTIONS[record.state][chainStatus]
  const isFree = chainStatus === 'free' || chainStatus === 'expiring'
  // A refusal ends the payment before anything is settled again.
  if (record.state === 'unknown' && record.refused_at !== undefined && isFree)
    return isNewer(nonceState, Date.parse(record.refused_at)) ? 'refused' : 'wait'
  switch (action) {
    case 'settle':
      return maySettle(cause, record, now) ? 'settle' : 'wait'
    case 'reopen':
      // A recorded time in the future is ignored: the clock was ahead, and no block may reach that time for weeks.
      return cause === 'reconciler' && isNewer(nonceState, notAfter(now, Date.parse(record.updated_at)))
        ? action
        : 'wait'
    default:
      return action
  }
}

/** By the record alone, so that it holds after a restart and on every machine that shares the response log. */
function maySettle(cause: Cause, record: ResponseRecord, now: Date): boolean {
  const { state, attempt, reverts = 0, prepared_at, settling_at = prepared_at } = record
  // A `prepared` record is not settled without a request: the buyer may never fetch the response.
  const isWanted = cause === 'request' || state !== 'prepared'
  if (!isWanted || attempt >= SETTLEMENTS_MAX || reverts >= REVERTS_MAX) return false
  const delay = Math.min(DELAY_FIRST_MS * 2 ** (attempt - 1), DELAY_MAX_MS)
  // The start can be in the future, because of another machine's clock or a clock that was set back. One far in the
  // future does not block.
  return Math.abs(now.getTime() - Date.parse(settling_at)) >= delay
}

/** A lagging node shows a nonce as free that was just used, so a free nonce counts only in a block after this time. */
function isNewer(nonceState: NonceState, milliseconds: number): boolean {
  return nonceState.nonce !== 'free' || Number(nonceState.time) * 1000 > milliseconds
}

function notAfter(now: Date, milliseconds: number): number {
  return milliseconds > now.getTime() ? 0 : milliseconds
}
