/**
 * What the chain shows of a payment before its sale. Only the chain proves a refusal: the time of a block, or a
 * simulated transfer that the token reverts.
 */
import { refused, refusedPayment, type PaymentRefused, type QuoteReason, type Refused } from '../operation/outcome.ts'
import type { TransferAuthorization } from '../payment/headers.ts'
import { checkTimes, type CheckedPayment } from '../payment/payment-checks.ts'
import { isNear, showsReply, toMs } from '../settlement/chain/clock.ts'
import type { Observation, ObserveOptions } from '../settlement/chain/observe.ts'
import { ask, type Answer, type Need } from '../settlement/chain/reader.ts'
import { nonceKey, transferCall } from '../settlement/chain/token.ts'
import type { SettlementServices } from '../settlement/services.ts'
import type { SaleStart } from '../settlement/settle.ts'

/** The answers do not count, or there are none. The payment stays usable. */
export const UNAVAILABLE = refused({ code: 'payment_verification_unavailable' })
/** The chain or the facilitator cannot be reached, which costs the client nothing. */
export const UNANSWERED = { kind: 'unanswered' } as const
/** The local clock is wrong, so no payment can be called late. */
const CLOCK_WRONG = refused({ code: 'clock_wrong' })
/** After `validBefore`, until nodes agree on a block that is past it. */
const BLOCK_SECONDS = 5

export type NotForSale =
  | typeof UNANSWERED
  /** The nonce is used in this observation, so an earlier settlement must be searched for. */
  | { kind: 'maybe_settled'; observation: Observation }
  | Refused
  | PaymentRefused

type SaleVerdict = { kind: 'for_sale' } | NotForSale
const FOR_SALE = { kind: 'for_sale' } as const

/** One node is enough for a sale. Before anything is refused, the next one that works must agree. */
export async function observeSale(
  services: SettlementServices,
  checked: CheckedPayment,
): Promise<(SaleStart & { kind: 'observed' }) | NotForSale> {
  const { chain, monotonic } = services
  const observedAt = monotonic()
  const needs = ({ kind }: SaleVerdict): Need => (kind === 'for_sale' ? 'single' : 'agreed')
  const answer = await askAbout(services, checked, (observation) => judge(services, checked, observation), needs)
  // The factory of the wallet can make the call fail, so the client pays for the call.
  if (answer.kind === 'none')
    return chain.isClockWrong() ? CLOCK_WRONG : checked.deploysWallet ? UNAVAILABLE : UNANSWERED
  const { verdict, observation } = answer
  if (verdict.kind !== 'for_sale') return verdict
  const sale = { kind: 'observed', observation, payer: payerIn(observation), observedAt } as const
  if (answer.kind !== 'contradicted') return { ...sale, isDisputed: false }
  const { first } = answer
  if (observation.number < first.observation.number) return UNAVAILABLE
  return { ...sale, isDisputed: payerIn(first.observation).isNonceUsed }
}

/**
 * The transfer of a wallet that its signature deploys is tried in any case. Looks for the transfers of earlier sales in
 * the same call.
 */
function askAbout(
  services: SettlementServices,
  { payment, requirements, deploysWallet }: CheckedPayment,
  judgeOne: (observation: Observation) => SaleVerdict,
  needs: (verdict: SaleVerdict) => Need,
  options: ObserveOptions = deploysWallet ? { transfer: transferCall(payment.payload) } : {},
): Promise<Answer<SaleVerdict>> {
  const { unseen } = services.doubts
  const transfers = unseen.next()
  const nonces = [nonceKey(requirements.asset, payment.payload.authorization), ...transfers.map(({ nonce }) => nonce)]
  const judgeAll = (observation: Observation): SaleVerdict => {
    unseen.noteObserved(transfers, observation.payments.slice(1), observation)
    return judgeOne(observation)
  }
  // Any reason not to sell confirms another one.
  const agrees = (_: SaleVerdict, other: SaleVerdict) => other.kind !== 'for_sale'
  return ask(services, { payments: nonces, options, judge: judgeAll, needs, agrees })
}

function payerIn({ payments: [payer] }: Observation): Observation['payments'][number] {
  if (!payer) throw new Error('An observation has no state of its payment')
  return payer
}

/** Whether the payment can be sold, by this observation. */
function judge(
  { chain, now }: SettlementServices,
  { payment, isSignedByPayer, deploysWallet, isTimely, isForFormerReceiver }: CheckedPayment,
  observation: Observation,
): SaleVerdict {
  const { time, trial } = observation
  const payer = payerIn(observation)
  if (chain.isClockWrong()) return CLOCK_WRONG
  // Only a contract can accept a signature that its address did not make (ERC-1271). The facilitator then checks it.
  const isUndeployed = !isSignedByPayer && payer.codeBytes === 0
  if (isUndeployed && !deploysWallet) return refusedPayment('payment_rejected', 'invalid_exact_evm_payload_signature')
  // A used nonce without a record never buys an answer, even if the facilitator would accept it (contract 5.7.12).
  if (payer.isNonceUsed) return { kind: 'maybe_settled', observation }
  if (isForFormerReceiver) return refusedPayment('payment_invalid', 'invalid_exact_evm_payload_recipient_mismatch')
  if (isTimely) return isUndeployed ? judgeTrial(trial, payer.balance, payment) : FOR_SALE
  const { authorization } = payment.payload
  const reason = checkTimes(authorization, new Date(toMs(time)))
  if (reason === undefined && !isNear(time, now())) return CLOCK_WRONG
  // Only a block past `validBefore` shows that the nonce stays free. An older one can be that of a node that lags.
  const isPassing = reason === 'invalid_exact_evm_payload_authorization_valid_before'
  if (isPassing && time < BigInt(authorization.validBefore)) return notYetEnded(authorization, now())
  if (reason === undefined) return UNAVAILABLE
  return refusedPayment('payment_invalid', reason)
}

/** Too late for a sale, too early to say that nothing was paid. */
export function notYetEnded({ validBefore }: TransferAuthorization, now: Date): Refused {
  const secondsLeft = Number(validBefore) - Math.floor(now.getTime() / 1000)
  return refused({
    code: 'payment_verification_unavailable',
    field: 'validBefore',
    detail: 'it ends too soon for a sale, and no block after validBefore shows yet that nothing was paid',
    retryAfterSeconds: Math.max(0, secondsLeft) + BLOCK_SECONDS,
  })
}

/** Only a transfer is sold that the token makes after the deployment of the wallet. */
function judgeTrial(
  trial: Observation['trial'],
  balance: bigint,
  payment: CheckedPayment['payment'],
): typeof FOR_SALE | PaymentRefused {
  if (trial === 'made') return FOR_SALE
  return trial === 'balance'
    ? refuseUnfunded(balance, payment)
    : refusedPayment('payment_rejected', 'invalid_exact_evm_payload_signature')
}

function refuseUnfunded(balance: bigint, { payload }: CheckedPayment['payment']): PaymentRefused {
  const detail = `the wallet has ${balance} micro-USDC, the price is ${payload.authorization.value}`
  return refusedPayment('payment_rejected', 'insufficient_funds', { detail })
}

/** Tries the transfer that a facilitator has refused for this reason. Undefined if the token would make it. */
export async function checkRefusal(
  services: SettlementServices,
  checked: CheckedPayment,
  { start, reason }: { start: SaleStart; reason: QuoteReason },
): Promise<NotForSale | undefined> {
  const repliedAt = services.now()
  const { payload } = checked.payment
  const judgeOne = (observation: Observation): SaleVerdict => {
    const payer = payerIn(observation)
    if (payer.isNonceUsed) return { kind: 'maybe_settled', observation }
    if (!showsReply(observation.time, repliedAt)) return UNAVAILABLE
    // A free nonce contradicts a use that the facilitator reports, whatever else the token refuses.
    if (observation.trial === 'made' || reason === 'authorization_used') return FOR_SALE
    const isCovered = payer.balance >= BigInt(payload.authorization.value)
    return isCovered ? refusedPayment('payment_rejected', reason) : refuseUnfunded(payer.balance, checked.payment)
  }
  // The facilitator has refused it too.
  const needs = (): Need => 'single'
  const options = { otherThan: start.observation, transfer: transferCall(payload) }
  const answer = await askAbout(services, checked, judgeOne, needs, options)
  if (answer.kind === 'none') return checked.deploysWallet ? UNAVAILABLE : UNANSWERED
  return answer.verdict.kind === 'for_sale' ? undefined : answer.verdict
}
