/**
 * Step 8: turns the checks by the chain and the facilitator into an outcome. Failed checks are charged to the budget of
 * the client. The amount of a verified payment is reserved against the balance of its payer.
 */
import { rateLimited, refused, refusedPayment, type Refused } from '../operation/outcome.ts'
import { WEIGHTS, type Client } from './limits/address-budget.ts'
import { PAYER_WAIT_MS_MAX } from './limits/payer-reservations.ts'
import type { CheckedPayment } from '../payment/payment-checks.ts'
import type { PaymentServices } from '../settlement/services.ts'
import {
  askFacilitator,
  findEarlierSettlement,
  judgeVerification,
  observeSale,
  type SaleStart,
} from '../settlement/verify-sale.ts'
import { outcomeUnknown } from './record-outcome.ts'
import type { SaleContext } from './sale-context.ts'

interface QuotedPayment {
  checked: CheckedPayment
  client: Client
}

/** Disposal ends the reservation of its amount. */
export interface Verified extends Disposable {
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

type NotVerified = AlreadySettled | Refused

/**
 * If the balance does not cover this payment and the unsettled ones of its payer, waits for those and verifies again.
 */
export async function verifyAndReserve(
  payments: PaymentServices,
  quoted: QuotedPayment,
  { verifications, payers }: Pick<SaleContext, 'verifications' | 'payers'>,
): Promise<Verified | NotVerified> {
  const { from: payer, value } = quoted.checked.payment.payload.authorization
  const endAt = payments.now().getTime() + PAYER_WAIT_MS_MAX
  for (;;) {
    const verified = await verifications.run(quoted.client.address, () => verifyPayment(payments, quoted))
    if (verified.kind !== 'verified') return verified
    const { balance } = verified.start.payer
    const reservation = payers.reserve(payer, { amount: BigInt(value), balance })
    if (reservation) return { ...verified, [Symbol.dispose]: () => reservation[Symbol.dispose]() }
    const leftMs = endAt - payments.now().getTime()
    const limited = leftMs > 0 ? quoted.client.budget.spend(WEIGHTS.payment) : rateLimited(0)
    if (limited) return limited
    await payers.nextRelease(payer, leftMs)
  }
}

/** Code, balance and nonce of the payer on chain, and the facilitator. */
async function verifyPayment(payments: PaymentServices, quoted: QuotedPayment) {
  const { checked: offered, client } = quoted
  // Both are asked at once. The chain refuses most payments that are late or not signed by the key of the payer.
  const isForSale = offered.isSignedByPayer && !offered.isLate && !offered.isForFormerReceiver
  const early = isForSale ? askFacilitator(payments, offered) : undefined
  const observed = await observeSale(payments, offered)
  // Awaited in any case, so that the queue also bounds the calls of refused payments.
  const earlyVerification = await early
  if (observed.kind !== 'observed') return refuse(payments, quoted, observed)
  const { observation } = observed
  const verification = earlyVerification ?? (await askFacilitator(payments, offered))
  const verified = await judgeVerification(payments, offered, { verification, observation })
  if (verified.kind !== 'verified') {
    // A refusal is checked by a second observation.
    client.budget.spend(WEIGHTS.remoteCall)
    return refuse(payments, quoted, verified)
  }
  return { ...verified, start: observed }
}

type Refusal = Exclude<Awaited<ReturnType<typeof findEarlierSettlement>>, AlreadySettled>

async function refuse(payments: PaymentServices, quoted: QuotedPayment, refusal: Refusal): Promise<NotVerified> {
  switch (refusal.kind) {
    case 'unanswered':
    case 'unavailable':
      if (refusal.kind === 'unanswered') quoted.client.budget.refund()
      return refused({ code: 'payment_verification_unavailable' })
    case 'clock_wrong':
      return refused({ code: 'clock_wrong' })
    case 'unknown':
      return outcomeUnknown()
    case 'refused':
      return refusedPayment(refusal.code, refusal.reason)
    case 'maybe_settled':
      return search(payments, quoted)
  }
}

/**
 * Searches the logs of the token for an earlier settlement. After a 402 without this search the client would sign a
 * second payment.
 */
async function search(payments: PaymentServices, quoted: QuotedPayment): Promise<NotVerified> {
  const { checked, client } = quoted
  const limited = client.budget.spend(WEIGHTS.search)
  if (limited) return limited
  const found = await findEarlierSettlement(payments, checked)
  if (found.kind === 'already_settled') return found
  return found.kind === 'maybe_settled' ? outcomeUnknown() : refuse(payments, quoted, found)
}
