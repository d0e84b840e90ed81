/**
 * Step 8 of a sale: observes the chain with one call, and asks the facilitator whether the payment would settle. A
 * refusal is a fact that the chain shows: of the times of a payment by the time of a block, of anything else by a
 * transfer that the token tries. A record can be lost while its payment is on chain, so a used nonce is never refused
 * without a search.
 */
import type { QuoteReason } from '../operation/outcome.ts'
import { checkTimes, type CheckedPayment } from '../payment/payment-checks.ts'
import { isNear } from './chain/clock.ts'
import type { Observation, ObserveOptions } from './chain/observe.ts'
import { transferCall } from './chain/token.ts'
import { interpretNonce } from './decide.ts'
import { verifyWithFacilitator, type Verification } from './facilitator/facilitator.ts'
import { facilitatorError } from './facilitator/facilitators.ts'
import { earliestSettlement, unlessUnreadable } from './observe-records.ts'
import { isTransportFailure } from './rpc/post-json.ts'
import type { PaymentServices } from './services.ts'

/** If the observed block is older than the reply of the facilitator by more than this, it proves nothing. */
const REPLY_TO_BLOCK_MS_MAX = 30_000

/** The chain before the first settlement. */
export interface SaleStart {
  observation: Observation
  /** Code, balance and nonce of the payer. */
  payer: Observation['payments'][number]
  /** On the monotonic clock. */
  observedAt: number
  /** Whether another node shows the nonce as used. The sale is then answered only after its transfer is on chain. */
  isDisputed: boolean
}

export type NotForSale =
  /** The chain or the facilitator cannot be reached. The payment stays usable. */
  | { kind: 'unanswered' }
  /** The answers do not count. The payment stays usable. */
  | { kind: 'unavailable' }
  /** The local clock is wrong, so no payment can be called late. */
  | { kind: 'clock_wrong' }
  | { kind: 'refused'; code: 'payment_invalid' | 'payment_rejected'; reason: QuoteReason }
  /** The nonce is used in this observation, so an earlier settlement must be searched for. */
  | { kind: 'maybe_settled'; observation: Observation }

type Observed = Omit<SaleStart, 'isDisputed'>

/** Reads the chain once, and once more from another node before anything is refused. */
export async function observeSale(
  payments: PaymentServices,
  offered: CheckedPayment,
): Promise<(SaleStart & { kind: 'observed' }) | NotForSale> {
  const { chain, now } = payments
  const first = await tryObserve(payments, offered)
  if (!first) return chain.isClockWrong() ? { kind: 'clock_wrong' } : { kind: 'unanswered' }
  const doubt = findDoubt(payments, offered, first)
  if (!doubt) return { kind: 'observed', ...first, isDisputed: false }
  if (chain.nodeCount === 1) return doubt
  const { node, number } = first.observation
  const second = await tryObserve(payments, offered, { otherThan: node })
  // No other node is usable.
  if (!second || second.observation.node === node || !isNear(second.observation.time, now())) return doubt
  const confirmed = findDoubt(payments, offered, second)
  if (confirmed) return confirmed
  if (second.observation.number < number) return { kind: 'unavailable' }
  return { kind: 'observed', ...second, isDisputed: first.payer.isNonceUsed }
}

/** Why the payment cannot be sold, by this observation. */
function findDoubt(
  { chain, now }: PaymentServices,
  { payment, isSignedByPayer, isTimely, isForFormerReceiver }: CheckedPayment,
  { observation, payer }: Observed,
): NotForSale | undefined {
  const { time } = observation
  if (chain.isClockWrong()) return { kind: 'clock_wrong' }
  // Only a contract can accept a signature that its address did not make (ERC-1271). The facilitator then checks it.
  if (!isSignedByPayer && payer.codeBytes === 0)
    return { kind: 'refused', code: 'payment_rejected', reason: 'invalid_exact_evm_payload_signature' }
  // A used nonce without a record never buys an answer, even if the facilitator would accept it (contract 5.7.12).
  if (payer.isNonceUsed) return { kind: 'maybe_settled', observation }
  if (isForFormerReceiver)
    return { kind: 'refused', code: 'payment_invalid', reason: 'invalid_exact_evm_payload_recipient_mismatch' }
  if (isTimely) return undefined
  const { authorization } = payment.payload
  const reason = checkTimes(authorization, new Date(Number(time) * 1000))
  if (reason === undefined && !isNear(time, now())) return { kind: 'clock_wrong' }
  // Only a block past `validBefore` shows that the nonce stays free. An older one can be that of a node that lags.
  const isPassing = reason === 'invalid_exact_evm_payload_authorization_valid_before'
  if (reason === undefined || (isPassing && time < BigInt(authorization.validBefore))) return { kind: 'unavailable' }
  return { kind: 'refused', code: 'payment_invalid', reason }
}

/** Asks the facilitator, or those after the one with this name. Never rejects. */
export function askFacilitator(
  { facilitator, timer }: PaymentServices,
  { payment, requirements }: CheckedPayment,
  after?: string,
): Promise<Verification> {
  return verifyWithFacilitator({ facilitator, timer, payment, requirements }, after)
}

/** Judges the answer of the facilitator. A refusal that the chain contradicts goes to the next one. */
export async function judgeVerification(
  payments: PaymentServices,
  offered: CheckedPayment,
  { first, start }: { first: Verification; start: SaleStart },
): Promise<Extract<Verification, { kind: 'verified' }> | NotForSale> {
  const { report, now } = payments
  let verification = first
  while (verification.kind === 'refused') {
    const refusal = await checkRefusal(payments, offered, { start, told: verification.reason })
    if (refusal) return refusal
    if (verification.isPolicy) return { kind: 'refused', code: 'payment_rejected', reason: verification.reason }
    const { facilitator } = verification
    report('refusal_contradicted', facilitatorError(facilitator))
    if (facilitator === undefined) return { kind: 'unavailable' }
    verification = await askFacilitator(payments, offered, facilitator)
  }
  if (verification.kind === 'unclear') {
    report('verification_unclear', verification.cause)
    return { kind: isTransportFailure(verification.cause) ? 'unanswered' : 'unavailable' }
  }
  // The remote calls took time, and settlement needs time too.
  return checkTimes(offered.payment.payload.authorization, now()) ? { kind: 'unavailable' } : verification
}

/** Tries the transfer on chain. Undefined if the token would make it. */
async function checkRefusal(
  payments: PaymentServices,
  offered: CheckedPayment,
  { start, told }: { start: SaleStart; told: QuoteReason },
): Promise<NotForSale | undefined> {
  const repliedAt = payments.now().getTime()
  const { payload } = offered.payment
  const options = { otherThan: start.observation.node, transfer: transferCall(payload) }
  const again = await tryObserve(payments, offered, options)
  if (!again) return { kind: 'unanswered' }
  const { observation, payer } = again
  if (payer.isNonceUsed) return { kind: 'maybe_settled', observation }
  if (Number(observation.time) * 1000 < repliedAt - REPLY_TO_BLOCK_MS_MAX) return { kind: 'unavailable' }
  // A free nonce contradicts a use that the facilitator reports, whatever else the token refuses.
  if (observation.isTransferable === true || told === 'authorization_used') return undefined
  const isCovered = payer.balance >= BigInt(payload.authorization.value)
  return { kind: 'refused', code: 'payment_rejected', reason: isCovered ? told : 'insufficient_funds' }
}

type EarlierSettlement =
  | { kind: 'already_settled'; transaction: string }
  /** No event of the use was found. */
  | { kind: 'unknown' }
  | Extract<NotForSale, { kind: 'unanswered' | 'refused' }>

/** Finds the settlement of a payment whose record is lost, removed or in another log. The chain alone decides. */
export async function findEarlierSettlement(
  payments: PaymentServices,
  { payment, requirements }: CheckedPayment,
  observation: Observation,
): Promise<EarlierSettlement> {
  const { authorization } = payment.payload
  const { from: payer, nonce } = authorization
  const from = { time: earliestSettlement(authorization, observation) }
  const nonceState = await unlessUnreadable(payments, () =>
    payments.chain.findUse({ asset: requirements.asset, payer, nonce, from }, observation),
  )
  if (!nonceState) return { kind: 'unanswered' }
  const chainStatus = interpretNonce({ nonceState, authorization, requirements, now: payments.now() })
  if (chainStatus === 'spent' || chainStatus === 'spent_final')
    return { kind: 'refused', code: 'payment_rejected', reason: 'authorization_used' }
  if (nonceState.nonce !== 'used') return { kind: 'unknown' }
  return { kind: 'already_settled', transaction: nonceState.transfer.transaction }
}

/** Undefined if the chain cannot be read. */
function tryObserve(
  payments: PaymentServices,
  { payment, requirements: { asset } }: CheckedPayment,
  options?: ObserveOptions,
): Promise<Observed | undefined> {
  const { from: payer, nonce } = payment.payload.authorization
  return unlessUnreadable(payments, async () => {
    const observedAt = payments.monotonic()
    const observation = await payments.chain.observe([{ asset, payer, nonce }], options)
    const [state] = observation.payments
    if (!state) throw new Error('An observation has no state of its payment')
    return { observation, payer: state, observedAt }
  })
}
