/**
 * Decides what happens to a record by what the chain shows of its payment. Pure, so that a sale, a retry, the
 * reconciler and the operator decide alike.
 */
import type { ResponseRecord } from '../../store/log/record.ts'
import type { NonceUse } from './chain/chain.ts'
import { toMs } from './chain/clock.ts'
import type { TransferTrial } from './chain/token.ts'
import type { TransferAuthorization } from '../payment/headers.ts'
import { isLate } from '../payment/payment-checks.ts'
import { isDenial, STATE_RULES, type Action, type ChainStatus } from './states.ts'
import { deploysWallet, recordedPayment } from '../payment/recorded-payment.ts'
import { isSameAddress } from '../payment/accounts.ts'

/** The time from the start of one settlement to the next one. It doubles with each settlement (contract 5.7.11). */
const DELAY_FIRST_MS = 5_000
/** A tenth of the lifetime of a quote, so that a facilitator that recovers is soon asked again. */
const DELAY_MAX_MS = 30_000
/** A payment that can be settled for longer than a quote is left to its buyer, whose retries settle it less often. */
const SETTLED_ALONE_MS_MAX = 360_000
const DELAY_LATER_MAX_MS = 600_000
/** A transaction that reverts costs the relayer gas. One revert can be caused by the state of a single block. */
const REVERTS_MAX = 2

/** The nonce of a payment, as an observation shows it. */
export type NonceState =
  /**
   * In a block at `time`. `finalTime` is that of the newest final block, 0 if it was not observed. Both in seconds. The
   * transfer is tried for a payment that awaits its refusal. `isCodeless`: the payer has no code.
   */
  { nonce: 'free'; time: bigint; finalTime: bigint; trial?: TransferTrial | undefined; isCodeless?: boolean } | NonceUse

interface AuthorizedPayment {
  authorization: TransferAuthorization
  requirements: { payTo: string; amount: string }
}

interface ObservedNonce extends AuthorizedPayment {
  nonceState: NonceState
  now: Date
}

export function interpretNonce({ nonceState, authorization, requirements, now }: ObservedNonce): ChainStatus {
  switch (nonceState.nonce) {
    case 'used':
      if (isPayment(nonceState, { authorization, requirements })) return nonceState.isFinal ? 'paid_final' : 'paid'
      return nonceState.isFinal ? 'spent_final' : 'spent'
    case 'cancelled':
      return nonceState.isFinal ? 'spent_final' : 'spent'
    case 'free':
      // A nonce that is free in the newest block is also free in the final block before it.
      if (nonceState.finalTime >= BigInt(authorization.validBefore)) return 'expired_final'
      return isLate(authorization, now) ? 'expiring' : 'free'
    case 'unclear':
      return 'unclear'
  }
}

export function isPayment(nonceState: NonceState, { authorization, requirements }: AuthorizedPayment): boolean {
  if (nonceState.nonce !== 'used') return false
  const { from, to, value } = nonceState.transfer
  return (
    isSameAddress(from, authorization.from) &&
    isSameAddress(to, requirements.payTo) &&
    value === BigInt(requirements.amount)
  )
}

/** What triggered a decision: a request of the buyer or the operator, or the reconciler. */
export type Cause = 'request' | 'reconciler'

interface Decided {
  record: ResponseRecord
  nonceState: NonceState
  /** Whether a block has the reported transaction, and it failed. */
  hasFailed?: boolean
  now: Date
  cause: Cause
}

export function decide(known: Decided): Action {
  const { record, nonceState, hasFailed = false, now, cause } = known
  const { state, refused_at = '', updated_at } = record
  const { payment, requirements } = recordedPayment(record)
  const { authorization } = payment.payload
  const action = STATE_RULES[state].moves[interpretNonce({ nonceState, authorization, requirements, now })]
  if (awaitsRefusal(record) && nonceState.nonce === 'free' && nonceState.time < BigInt(authorization.validBefore)) {
    const { trial } = nonceState
    if (trial === undefined || !isShownAfter(Date.parse(refused_at), nonceState)) return 'wait'
    // Any other reason can pass, so the payment is settled again.
    if (trial !== 'made' && trial !== 'other') return 'refused'
  }
  switch (action) {
    case 'settle':
      return maySettle(known) ? action : 'wait'
    case 'reopen': {
      if (hasFailed && cause === 'reconciler') return 'retract'
      // A recorded time in the future is ignored: the clock was ahead, and no block may reach that time for weeks.
      const settledAt = Date.parse(updated_at)
      const isLater = settledAt > now.getTime() || isShownAfter(settledAt, nonceState)
      return cause === 'reconciler' && isLater ? action : 'wait'
    }
    default:
      return action
  }
}

/** Whether the payment would end without an answer if the observed block were final. */
export function endsOnceFinal({ nonceState, ...known }: Decided): boolean {
  const final = nonceState.nonce === 'free' ? { finalTime: nonceState.time } : { isFinal: true }
  return isDenial(decide({ ...known, nonceState: { ...nonceState, ...final } }))
}

/** Whether the facilitator has refused its first settlement, and the chain has not decided whether that is true. */
export function awaitsRefusal({ state, attempt, refused_at }: ResponseRecord): boolean {
  return state === 'unknown' && attempt === 1 && refused_at !== undefined
}

/** By record and chain alone, so that it holds after a restart and on every machine that shares the response log. */
function maySettle({ record, nonceState, hasFailed, now, cause }: Decided): boolean {
  const { state, attempt, reverts = 0, prepared_at, settling_at = prepared_at } = record
  const isFirstMinutes = Math.abs(now.getTime() - Date.parse(prepared_at)) < SETTLED_ALONE_MS_MAX
  // A `prepared` record is not settled without a request: the buyer may never fetch the response.
  const isWanted = cause === 'request' || (state !== 'prepared' && isFirstMinutes)
  if (!isWanted || reverts >= REVERTS_MAX) return false
  // The buyer chooses the factory, and each deployment costs the facilitator gas.
  const isDeployment = nonceState.nonce === 'free' && nonceState.isCodeless === true
  if (deploysWallet(record) && (hasFailed || (reverts > 0 && isDeployment))) return false
  const delayMax = isFirstMinutes ? DELAY_MAX_MS : DELAY_LATER_MAX_MS
  const delay = Math.min(DELAY_FIRST_MS * 2 ** (attempt - 1), delayMax)
  // The start can be in the future, because of another machine's clock or a clock that was set back. One far in the
  // future does not block.
  return Math.abs(now.getTime() - Date.parse(settling_at)) >= delay
}

/** Whether a block from after this time shows it. Nodes that lag show a nonce as free that was just used. */
function isShownAfter(milliseconds: number, nonceState: NonceState): boolean {
  return nonceState.nonce !== 'free' || toMs(nonceState.time) > milliseconds
}
