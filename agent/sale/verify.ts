/**
 * Step 8: asks the chain with one call, and the facilitator whether the payment would settle. A record can be lost
 * while its payment is on chain, so a used nonce is refused only after a search. Failed checks are charged to the
 * budget of the client, and the amount of a verified payment is reserved.
 */
import { rateLimited, refused, refusedPayment, type PaymentRefused, type Refused } from '../operation/outcome.ts'
import { WEIGHTS, type Client } from './limits/address-budget.ts'
import { payerPrefixOf } from '../payment/binding.ts'
import { checkTimes, endsLate, type CheckedPayment } from '../payment/payment-checks.ts'
import type { Observation } from '../settlement/chain/observe.ts'
import { unlessUnreadable } from '../settlement/chain/reader.ts'
import { nonceKey } from '../settlement/chain/token.ts'
import { isPayment } from '../settlement/decide.ts'
import { facilitatorError, NoFacilitatorLeft, verifyWithFacilitator } from '../settlement/facilitator/facilitator.ts'
import { earliestSettlement } from '../settlement/observe-records.ts'
import { isTransportFailure } from '../settlement/rpc/post-json.ts'
import type { SettlementServices } from '../settlement/services.ts'
import type { SaleStart } from '../settlement/settle.ts'
import { checkRefusal, notYetEnded, observeSale, UNANSWERED, UNAVAILABLE, type NotForSale } from './observe-sale.ts'
import { outcomeUnknown } from './record-outcome.ts'
import type { SaleContext } from './sale-context.ts'

/** The time until another payment of the payer is probably settled. */
const RESERVED_MS = 2_000

/** A payer with so many payments of unknown outcome gets no further one that can be settled for up to an hour. */
const UNKNOWN_MAX = 4
/** An outcome usually becomes known with the next observations of the reconciler. */
const UNKNOWN_WAIT_MS = 30_000

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

export async function verifyAndReserve(
  context: SaleContext,
  checked: CheckedPayment,
  client: Client,
): Promise<Verified | NotVerified> {
  const verified = await verifyInTurn(context, checked, client)
  if (verified.kind !== 'verified') return verified
  if (await leavesTooMuchOpen(context.services, checked)) return rateLimited(UNKNOWN_WAIT_MS)
  const { from: payer, value } = checked.payment.payload.authorization
  const { balance } = verified.start.payer
  const reservation = context.payers.reserve(payer, { amount: BigInt(value), balance })
  return reservation ? { ...verified, [Symbol.dispose]: () => reservation[Symbol.dispose]() } : rateLimited(RESERVED_MS)
}

/** Limits what a payer of long payments leaves open. If the log fails, the claim fails as well. */
async function leavesTooMuchOpen({ log, now }: SettlementServices, { identity, payment }: CheckedPayment) {
  if (!endsLate(payment.payload.authorization, now())) return false
  const states = ['unknown'] as const
  const counts = await log.count({ states, prefix: payerPrefixOf(identity) }).catch(() => new Map())
  return (counts.get('unknown') ?? 0) >= UNKNOWN_MAX
}

async function verifyInTurn({ services, verifications }: SaleContext, checked: CheckedPayment, client: Client) {
  using place = await verifications.enter(client)
  if (!place) return refused({ code: 'overloaded' })
  const first = await verifyPayment(services, checked, client)
  const verification =
    first.kind === 'maybe_settled' ? await findEarlierSettlement(services, checked, client, first.observation) : first
  if (verification.kind !== 'unanswered') return verification
  client.budget.refund()
  return UNAVAILABLE
}

async function verifyPayment(services: SettlementServices, checked: CheckedPayment, client: Client) {
  // Both are asked at once. The chain refuses most payments that are not timely or not signed by the key of the payer.
  const isForSale = checked.isSignedByPayer && checked.isTimely && !checked.isForFormerReceiver
  const { facilitator, timer } = services
  const request = { facilitator, timer, ...checked }
  const verifying = isForSale ? verifyWithFacilitator(request) : undefined
  const start = await observeSale(services, checked)
  // Awaited in any case, so that the queue also bounds the calls of refused payments.
  const early = await verifying
  if (start.kind !== 'observed') return start
  const first = early ?? (await verifyWithFacilitator(request))
  const verification = await judgeVerification(services, checked, { first, start })
  if (verification.kind === 'verified') return { ...verification, start }
  // The refusal needed a second observation of the chain, which the budget pays for.
  client.budget.spend(WEIGHTS.remoteCall)
  return verification
}

/** Checks the answer of the facilitator. If the chain contradicts a refusal, the next facilitator is asked. */
async function judgeVerification(
  services: SettlementServices,
  checked: CheckedPayment,
  { first, start }: { first: Verification; start: SaleStart },
): Promise<Extract<Verification, { kind: 'verified' }> | NotForSale> {
  const { report, now } = services
  const isUndeployed = checked.deploysWallet && start.payer.codeBytes === 0
  let verification = first
  let unsupported: PaymentRefused | undefined
  while (verification.kind === 'refused') {
    const refusal = await checkRefusal(services, checked, { start, reason: verification.reason })
    if (refusal) return refusal
    const { reason, isPolicy, facilitator } = verification
    if (isPolicy) return refusedPayment('payment_rejected', reason)
    // Not every facilitator deploys wallets.
    if (isUndeployed) unsupported = refusedPayment('payment_rejected', reason)
    else report('refusal_contradicted', facilitatorError(facilitator))
    if (facilitator === undefined) return unsupported ?? UNAVAILABLE
    verification = await verifyWithFacilitator({ ...services, ...checked }, facilitator)
  }
  if (verification.kind === 'unclear') {
    if (unsupported && verification.cause instanceof NoFacilitatorLeft) return unsupported
    // A buyer can choose a factory whose deployment makes the facilitator fail.
    report(isUndeployed ? 'facilitator_unanswered' : 'verification_unclear', verification.cause)
    return isTransportFailure(verification.cause) ? UNANSWERED : UNAVAILABLE
  }
  // Time has passed since the check in step 7, and the payment must still be valid when it is settled.
  const { authorization } = checked.payment.payload
  return checkTimes(authorization, now()) ? notYetEnded(authorization, now()) : verification
}

/**
 * Searches the logs of the token for an earlier settlement: the record can be lost, removed or in another log. The
 * chain alone decides. After a 402 without this search the client would sign a second payment.
 */
async function findEarlierSettlement(
  services: SettlementServices,
  { payment, requirements }: CheckedPayment,
  client: Client,
  observation: Observation,
): Promise<NotVerified | typeof UNANSWERED> {
  const limited = client.budget.spend(WEIGHTS.logSearch)
  if (limited) return limited
  const { authorization } = payment.payload
  const from = { time: earliestSettlement(authorization, observation) }
  const nonceState = await unlessUnreadable(services, () =>
    services.chain.findUse({ ...nonceKey(requirements.asset, authorization), from }, observation),
  )
  if (!nonceState) return UNANSWERED
  // No event of the use was found.
  if (nonceState.nonce === 'unclear') return outcomeUnknown()
  if (nonceState.nonce === 'cancelled' || !isPayment(nonceState, { authorization, requirements }))
    return refusedPayment('payment_rejected', 'authorization_used')
  return { kind: 'already_settled', transaction: nonceState.transfer.transaction }
}
