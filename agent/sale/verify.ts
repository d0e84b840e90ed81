/**
 * Step 8: observes the chain with one call, and asks the facilitator whether the payment would settle. Only the chain
 * proves a refusal: the time of a block, or a simulated transfer that the token reverts. A record can be lost while its
 * payment is on chain, so a used nonce is never refused without a search. Failed checks are charged to the budget of
 * the client, and the amount of a verified payment is reserved.
 */
import {
  rateLimited,
  refused,
  refusedPayment,
  type PaymentRefused,
  type QuoteReason,
  type Refused,
} from '../operation/outcome.ts'
import { WEIGHTS, type Client } from './limits/address-budget.ts'
import { payerPrefixOf } from '../payment/binding.ts'
import { checkTimes, endsLate, type CheckedPayment } from '../payment/payment-checks.ts'
import { isNear, showsReply, toMs } from '../settlement/chain/clock.ts'
import type { Observation, ObserveOptions } from '../settlement/chain/observe.ts'
import { nonceKey, transferCall } from '../settlement/chain/token.ts'
import { isPayment } from '../settlement/decide.ts'
import { facilitatorError, NoFacilitatorLeft, verifyWithFacilitator } from '../settlement/facilitator/facilitator.ts'
import { earliestSettlement, unlessUnreadable } from '../settlement/observe-records.ts'
import { isTransportFailure } from '../settlement/rpc/post-json.ts'
import type { PaymentServices } from '../settlement/services.ts'
import type { SaleStart } from '../settlement/settle.ts'
import { outcomeUnknown } from './record-outcome.ts'
import type { SaleContext } from './sale-context.ts'

/** The time until another payment of the payer is probably settled. */
const RESERVED_MS = 2_000

/** A payer with so many payments of unknown outcome gets no further one that can be settled for up to an hour. */
const UNKNOWN_MAX = 4
/** An outcome usually becomes known with the next observations of the reconciler. */
const UNKNOWN_WAIT_MS = 30_000

/** The answers do not count, or there are none. The payment stays usable. */
const UNAVAILABLE = refused({ code: 'payment_verification_unavailable' })
/** The chain or the facilitator cannot be reached, which costs the client nothing. */
const UNANSWERED = { kind: 'unanswered' } as const
/** The local clock is wrong, so no payment can be called late. */
const CLOCK_WRONG = refused({ code: 'clock_wrong' })

type Verification = Awaited<ReturnType<typeof verifyWithFacilitator>>

/** Disposal ends the reservation of its amount. */
interface Verified extends Disposable {
  kind: 'verified'
  /** The chain before the settlement. */
  start: SaleStart
  /** The facilitator that verified the payment, if it has a name. It alone settles the payment. */
  facilitator: string | undefined
}

/** The chain shows the transfer of this payment to the service. */
interface AlreadySettled {
  kind: 'already_settled'
  transaction: string
}

type NotVerified = AlreadySettled | Refused | PaymentRefused

type NotForSale =
  | typeof UNANSWERED
  /** The nonce is used in this observation, so an earlier settlement must be searched for. */
  | { kind: 'maybe_settled'; observation: Observation }
  | Refused
  | PaymentRefused

export async function verifyAndReserve(
  context: SaleContext,
  checked: CheckedPayment,
  client: Client,
): Promise<Verified | NotVerified> {
  const verified = await verifyInTurn(context, checked, client)
  if (verified.kind !== 'verified') return verified
  if (await leavesTooMuchOpen(context.payments, checked)) return rateLimited(UNKNOWN_WAIT_MS)
  const { from: payer, value } = checked.payment.payload.authorization
  const { balance } = verified.start.payer
  const reservation = context.payers.reserve(payer, { amount: BigInt(value), balance })
  return reservation ? { ...verified, [Symbol.dispose]: () => reservation[Symbol.dispose]() } : rateLimited(RESERVED_MS)
}

/** Limits what a payer of long payments leaves open. If the log fails, the claim fails as well. */
async function leavesTooMuchOpen({ log, now }: PaymentServices, { identity, payment }: CheckedPayment) {
  if (!endsLate(payment.payload.authorization, now())) return false
  const states = ['unknown'] as const
  const counts = await log.count({ states, prefix: payerPrefixOf(identity) }).catch(() => new Map())
  return (counts.get('unknown') ?? 0) >= UNKNOWN_MAX
}

async function verifyInTurn({ payments, verifications }: SaleContext, checked: CheckedPayment, client: Client) {
  using place = await verifications.enter(client)
  if (!place) return refused({ code: 'overloaded' })
  const first = await verifyPayment(payments, checked, client)
  const verification =
    first.kind === 'maybe_settled' ? await search(payments, checked, client, first.observation) : first
  if (verification.kind !== 'unanswered') return verification
  client.budget.refund()
  return UNAVAILABLE
}

async function verifyPayment(payments: PaymentServices, checked: CheckedPayment, client: Client) {
  // Both are asked at once. The chain refuses most payments that are not timely or not signed by the key of the payer.
  const isForSale = checked.isSignedByPayer && checked.isTimely && !checked.isForFormerReceiver
  const { facilitator, timer } = payments
  const request = { facilitator, timer, ...checked }
  const verifying = isForSale ? verifyWithFacilitator(request) : undefined
  const start = await observeSale(payments, checked)
  // Awaited in any case, so that the queue also bounds the calls of refused payments.
  const early = await verifying
  if (start.kind !== 'observed') return start
  const first = early ?? (await verifyWithFacilitator(request))
  const verification = await judgeVerification(payments, checked, { first, start })
  if (verification.kind === 'verified') return { ...verification, start }
  // The refusal needed a second observation of the chain, which the budget pays for.
  client.budget.spend(WEIGHTS.remoteCall)
  return verification
}

type Observed = Omit<SaleStart, 'isDisputed'>

/** Reads the chain once, and once more from another node before anything is refused. */
async function observeSale(
  payments: PaymentServices,
  checked: CheckedPayment,
): Promise<(SaleStart & { kind: 'observed' }) | NotForSale> {
  const { chain, now } = payments
  const first = await tryObserve(payments, checked)
  // The factory of the wallet can make the call fail, so the client pays for the call.
  if (!first) return chain.isClockWrong() ? CLOCK_WRONG : checked.deploysWallet ? UNAVAILABLE : UNANSWERED
  const doubt = findDoubt(payments, checked, first)
  if (!doubt) return { kind: 'observed', ...first, isDisputed: false }
  if (chain.nodeCount === 1) return doubt
  const { node, number } = first.observation
  const second = await tryObserve(payments, checked, { otherThan: node })
  // No other node is usable.
  if (!second || second.observation.node === node || !isNear(second.observation.time, now())) return doubt
  const confirmed = findDoubt(payments, checked, second)
  if (confirmed) return confirmed
  if (second.observation.number < number) return UNAVAILABLE
  return { kind: 'observed', ...second, isDisputed: first.payer.isNonceUsed }
}

/** Why the payment cannot be sold, by this observation. */
function findDoubt(
  { chain, now }: PaymentServices,
  { payment, isSignedByPayer, deploysWallet, isTimely, isForFormerReceiver }: CheckedPayment,
  { observation, payer }: Observed,
): NotForSale | undefined {
  const { time } = observation
  if (chain.isClockWrong()) return CLOCK_WRONG
  // Only a contract can accept a signature that its address did not make (ERC-1271). The facilitator then checks it.
  const isUndeployed = !isSignedByPayer && payer.codeBytes === 0
  if (isUndeployed && !deploysWallet) return refusedPayment('payment_rejected', 'invalid_exact_evm_payload_signature')
  // A used nonce without a record never buys an answer, even if the facilitator would accept it (contract 5.7.12).
  if (payer.isNonceUsed) return { kind: 'maybe_settled', observation }
  if (isForFormerReceiver) return refusedPayment('payment_invalid', 'invalid_exact_evm_payload_recipient_mismatch')
  if (isTimely) return isUndeployed ? refuseTrial(observation.trial, payer.balance, payment) : undefined
  const { authorization } = payment.payload
  const reason = checkTimes(authorization, new Date(toMs(time)))
  if (reason === undefined && !isNear(time, now())) return CLOCK_WRONG
  // Only a block past `validBefore` shows that the nonce stays free. An older one can be that of a node that lags.
  const isPassing = reason === 'invalid_exact_evm_payload_authorization_valid_before'
  if (reason === undefined || (isPassing && time < BigInt(authorization.validBefore))) return UNAVAILABLE
  return refusedPayment('payment_invalid', reason)
}

/** Only a transfer is sold that the token makes after the deployment of the wallet. */
function refuseTrial(
  trial: Observation['trial'],
  balance: bigint,
  payment: CheckedPayment['payment'],
): PaymentRefused | undefined {
  if (trial === 'made') return undefined
  return trial === 'balance'
    ? refuseUnfunded(balance, payment)
    : refusedPayment('payment_rejected', 'invalid_exact_evm_payload_signature')
}

function refuseUnfunded(balance: bigint, { payload }: CheckedPayment['payment']): PaymentRefused {
  const detail = `the wallet has ${balance} micro-USDC, the price is ${payload.authorization.value}`
  return refusedPayment('payment_rejected', 'insufficient_funds', { detail })
}

/** Checks the answer of the facilitator. If the chain contradicts a refusal, the next facilitator is asked. */
async function judgeVerification(
  payments: PaymentServices,
  checked: CheckedPayment,
  { first, start }: { first: Verification; start: SaleStart },
): Promise<Extract<Verification, { kind: 'verified' }> | NotForSale> {
  const { report, now } = payments
  const isUndeployed = checked.deploysWallet && start.payer.codeBytes === 0
  let verification = first
  let unsupported: PaymentRefused | undefined
  while (verification.kind === 'refused') {
    const refusal = await checkRefusal(payments, checked, { start, reason: verification.reason })
    if (refusal) return refusal
    const { reason, isPolicy, facilitator } = verification
    if (isPolicy) return refusedPayment('payment_rejected', reason)
    // Not every facilitator deploys wallets.
    if (isUndeployed) unsupported = refusedPayment('payment_rejected', reason)
    else report('refusal_contradicted', facilitatorError(facilitator))
    if (facilitator === undefined) return unsupported ?? UNAVAILABLE
    verification = await verifyWithFacilitator({ ...payments, ...checked }, facilitator)
  }
  if (verification.kind === 'unclear') {
    if (unsupported && verification.cause instanceof NoFacilitatorLeft) return unsupported
    // A buyer can choose a factory whose deployment makes the facilitator fail.
    report(isUndeployed ? 'facilitator_unanswered' : 'verification_unclear', verification.cause)
    return isTransportFailure(verification.cause) ? UNANSWERED : UNAVAILABLE
  }
  // Time has passed since the check in step 7, and the payment must still be valid when it is settled.
  return checkTimes(checked.payment.payload.authorization, now()) ? UNAVAILABLE : verification
}

/** Tries the transfer on chain. Undefined if the token would make it. */
async function checkRefusal(
  payments: PaymentServices,
  checked: CheckedPayment,
  { start, reason }: { start: SaleStart; reason: QuoteReason },
): Promise<NotForSale | undefined> {
  const repliedAt = payments.now()
  const { payload } = checked.payment
  const options = { otherThan: start.observation.node, transfer: transferCall(payload) }
  const again = await tryObserve(payments, checked, options)
  if (!again) return checked.deploysWallet ? UNAVAILABLE : UNANSWERED
  const { observation, payer } = again
  if (payer.isNonceUsed) return { kind: 'maybe_settled', observation }
  if (!showsReply(observation.time, repliedAt)) return UNAVAILABLE
  // A free nonce contradicts a use that the facilitator reports, whatever else the token refuses.
  if (observation.trial === 'made' || reason === 'authorization_used') return undefined
  const isCovered = payer.balance >= BigInt(payload.authorization.value)
  return isCovered ? refusedPayment('payment_rejected', reason) : refuseUnfunded(payer.balance, checked.payment)
}

/**
 * Searches the logs of the token for an earlier settlement: the record can be lost, removed or in another log. The
 * chain alone decides. After a 402 without this search the client would sign a second payment.
 */
async function search(
  payments: PaymentServices,
  { payment, requirements }: CheckedPayment,
  client: Client,
  observation: Observation,
): Promise<NotVerified | typeof UNANSWERED> {
  const limited = client.budget.spend(WEIGHTS.search)
  if (limited) return limited
  const { authorization } = payment.payload
  const from = { time: earliestSettlement(authorization, observation) }
  const nonceState = await unlessUnreadable(payments, () =>
    payments.chain.findUse({ ...nonceKey(requirements.asset, authorization), from }, observation),
  )
  if (!nonceState) return UNANSWERED
  // No event of the use was found.
  if (nonceState.nonce === 'unclear') return outcomeUnknown()
  if (nonceState.nonce === 'cancelled' || !isPayment(nonceState, { authorization, requirements }))
    return refusedPayment('payment_rejected', 'authorization_used')
  return { kind: 'already_settled', transaction: nonceState.transfer.transaction }
}

/** Undefined if the chain cannot be read. */
function tryObserve(
  payments: PaymentServices,
  checked: CheckedPayment,
  options?: ObserveOptions,
): Promise<Observed | undefined> {
  return unlessUnreadable(payments, async () => {
    const observedAt = payments.monotonic()
    const nonce = nonceKey(checked.requirements.asset, checked.payment.payload.authorization)
    const transfer = checked.deploysWallet ? transferCall(checked.payment.payload) : undefined
    const observation = await payments.chain.observe([nonce], { transfer, ...options })
    const [state] = observation.payments
    if (!state) throw new Error('An observation has no state of its payment')
    return { observation, payer: state, observedAt }
  })
}
