/**
 * Step 8 of a sale: observes the chain with one call, and asks the facilitator whether the payment would settle. A
 * record can be lost while its payment is on chain, so a refusal counts only if a later observation shows the nonce
 * free.
 */
import type { Observation } from './chain/observe.ts'
import { verifyWithFacilitator } from './facilitator/facilitator.ts'
import { interpretNonce } from './decide.ts'
import { unlessUnreadable } from './observe-records.ts'
import { checkTimes, type CheckedPayment } from '../payment/payment-checks.ts'
import type { QuoteReason } from '../operation/outcome.ts'
import type { PaymentServices } from './services.ts'
import { ACCEPTED_SECONDS_MAX } from '../payment/terms.ts'

/** If the observed block is older than the reply of the facilitator by more than this, a free nonce proves nothing. */
const REPLY_TO_BLOCK_MS_MAX = 30_000
/** A search of logs begins this much earlier, in case the local clock was wrong when the payment was accepted. */
const CLOCK_DIFFERENCE_SECONDS_MAX = 600

/** Code, balance and nonce of the payer. */
type PayerState = Observation['payments'][number]

type Verification = Awaited<ReturnType<typeof verifyWithFacilitator>>

/** The chain before the first settlement. */
export interface SaleStart {
  observation: Observation
  payer: PayerState
  /** On the monotonic clock. */
  observedAt: number
}

type NotForSale =
  /** The chain or the facilitator does not answer. The payment stays usable. */
  | { kind: 'unanswered' }
  /** The answers do not count, because a node lags. The payment stays usable. */
  | { kind: 'unavailable' }
  /** The local clock is wrong, so no payment can be called late. */
  | { kind: 'clock_wrong' }
  | { kind: 'refused'; code: 'payment_invalid' | 'payment_rejected'; reason: QuoteReason }
  /** The nonce is or may be used, so an earlier settlement must be searched for. */
  | { kind: 'maybe_settled' }

/** Reads the chain once. */
export async function observeSale(
  payments: PaymentServices,
  offered: CheckedPayment,
): Promise<(SaleStart & { kind: 'observed' }) | NotForSale> {
  const { authorization } = offered.payment.payload
  const observedAt = payments.monotonic()
  const observed = await tryObserve(payments, offered)
  if (payments.chain.isClockWrong()) return { kind: 'clock_wrong' }
  if (!observed) return { kind: 'unanswered' }
  const { observation, payer } = observed
  // Only a contract can accept a signature that its address did not make (ERC-1271). The facilitator then checks it.
  if (!offered.isSignedByPayer && payer.codeBytes === 0)
    return { kind: 'refused', code: 'payment_rejected', reason: 'invalid_exact_evm_payload_signature' }
  // A used nonce without a record never buys an answer, even if the facilitator would accept it (contract 5.7.12).
  if (payer.isNonceUsed) return { kind: 'maybe_settled' }
  if (offered.isForFormerReceiver)
    return { kind: 'refused', code: 'payment_invalid', reason: 'invalid_exact_evm_payload_recipient_mismatch' }
  if (!offered.isLate) return { kind: 'observed', observation, observedAt, payer }
  // Only a block past `validBefore` shows that the nonce stays free. An older one can be that of a node that lags.
  return observation.time >= BigInt(authorization.validBefore)
    ? { kind: 'refused', code: 'payment_invalid', reason: 'invalid_exact_evm_payload_authorization_valid_before' }
    : { kind: 'unavailable' }
}

/** Asks the facilitator. Never rejects. */
export function askFacilitator(
  payments: PaymentServices,
  { payment, requirements }: CheckedPayment,
): Promise<Verification> {
  const { facilitator, timer } = payments
  return verifyWithFacilitator({ facilitator, timer, payment, requirements })
}

/** Judges the answer of the facilitator. Observes the chain again if it refused. */
export async function judgeVerification(
  payments: PaymentServices,
  offered: CheckedPayment,
  { verification, observation }: { verification: Verification; observation: Observation },
): Promise<Extract<Verification, { kind: 'verified' }> | NotForSale> {
  const { report, now } = payments
  switch (verification.kind) {
    case 'verified': {
      // The remote calls took time, and settlement needs time too.
      const reason = checkTimes(offered.payment.payload.authorization, now())
      return reason ? { kind: 'refused', code: 'payment_invalid', reason } : verification
    }
    case 'unclear':
      report('verification_unclear', verification.cause)
      return { kind: 'unanswered' }
    case 'refused': {
      const { reason } = verification
      if (reason === 'authorization_used') return { kind: 'maybe_settled' }
      const repliedAt = now().getTime()
      const again = await tryObserve(payments, offered, observation.node)
      if (!again) return { kind: 'unanswered' }
      if (again.payer.isNonceUsed) return { kind: 'maybe_settled' }
      return Number(again.observation.time) * 1000 >= repliedAt - REPLY_TO_BLOCK_MS_MAX
        ? { kind: 'refused', code: 'payment_rejected', reason }
        : { kind: 'unavailable' }
    }
  }
}

/** Finds the settlement of a payment whose record is lost, removed or in another log. The chain alone decides. */
export async function findEarlierSettlement(
  payments: PaymentServices,
  offered: CheckedPayment,
): Promise<{ kind: 'already_settled'; transaction: string } | { kind: 'unknown' } | NotForSale> {
  const { payment, requirements } = offered
  const { authorization } = payment.payload
  const { from: payer, nonce, validBefore } = authorization
  const observed = await tryObserve(payments, offered)
  if (!observed) return { kind: 'unanswered' }
  // Another node may show the nonce as free.
  if (!observed.payer.isNonceUsed) return { kind: 'unavailable' }
  // The service accepts a payment shortly before `validBefore`.
  const from = { time: BigInt(validBefore) - BigInt(ACCEPTED_SECONDS_MAX + CLOCK_DIFFERENCE_SECONDS_MAX) }
  const nonceState = await unlessUnreadable(payments, () =>
    payments.chain.findUse({ asset: requirements.asset, payer, nonce, from }, observed.observation),
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
  otherThan?: number,
): Promise<{ observation: Observation; payer: PayerState } | undefined> {
  const { from: payer, nonce } = payment.payload.authorization
  return unlessUnreadable(payments, async () => {
    const observation = await payments.chain.observe([{ asset, payer, nonce }], { otherThan })
    const [state] = observation.payments
    if (!state) throw new Error('An observation has no state of its payment')
    return { observation, payer: state }
  })
}
