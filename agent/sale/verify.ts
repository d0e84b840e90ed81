/**
 * Step 8: turns the checks by the chain and the facilitator into an outcome. Failed checks are charged to the budget of
 * the client. The amount of a verified payment is reserved against the balance of its payer.
 */
import { rateLimited, refused, refusedPayment, type PaymentRefused, type Refused } from '../operation/outcome.ts'
import { WEIGHTS, type Client } from './limits/address-budget.ts'
import type { WorkQueue } from './limits/work-queue.ts'
import type { CheckedPayment } from '../payment/payment-checks.ts'
import type { Observation } from '../settlement/chain/observe.ts'
import type { PaymentServices } from '../settlement/services.ts'
import {
  askFacilitator,
  findEarlierSettlement,
  judgeVerification,
  observeSale,
  type NotForSale,
  type SaleStart,
} from '../settlement/verify-sale.ts'
import { outcomeUnknown } from './record-outcome.ts'
import type { SaleContext } from './sale-context.ts'

/** The time until another payment of the payer is probably settled. */
const RESERVED_MS = 2_000

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

type NotVerified = AlreadySettled | Refused | PaymentRefused

export async function verifyAndReserve(
  payments: PaymentServices,
  quoted: QuotedPayment,
  { verifications, payers }: Pick<SaleContext, 'verifications' | 'payers'>,
): Promise<Verified | NotVerified> {
  const { from: payer, value } = quoted.checked.payment.payload.authorization
  const verified = await verifyInTurn(payments, quoted, verifications)
  if (verified.kind !== 'verified') return verified
  const { balance } = verified.start.payer
  const reservation = payers.reserve(payer, { amount: BigInt(value), balance })
  return reservation ? { ...verified, [Symbol.dispose]: () => reservation[Symbol.dispose]() } : rateLimited(RESERVED_MS)
}

async function verifyInTurn(payments: PaymentServices, quoted: QuotedPayment, verifications: WorkQueue) {
  using place = await verifications.enter(quoted.client)
  return place ? await verifyPayment(payments, quoted) : refused({ code: 'overloaded' })
}

/** Code, balance and nonce of the payer on chain, and the facilitator. */
async function verifyPayment(payments: PaymentServices, quoted: QuotedPayment) {
  const { checked: offered, client } = quoted
  // Both are asked at once. The chain refuses most payments that are not timely or not signed by the key of the payer.
  const isForSale = offered.isSignedByPayer && offered.isTimely && !offered.isForFormerReceiver
  const early = isForSale ? askFacilitator(payments, offered) : undefined
  const start = await observeSale(payments, offered)
  // Awaited in any case, so that the queue also bounds the calls of refused payments.
  const answered = await early
  if (start.kind !== 'observed') return refuse(payments, quoted, start)
  const first = answered ?? (await askFacilitator(payments, offered))
  const verified = await judgeVerification(payments, offered, { first, start })
  if (verified.kind !== 'verified') {
    // A refusal is checked by a second observation.
    client.budget.spend(WEIGHTS.remoteCall)
    return refuse(payments, quoted, verified)
  }
  return { ...verified, start }
}

async function refuse(
  payments: PaymentServices,
  quoted: QuotedPayment,
  refusal: NotForSale | { kind: 'unknown' },
): Promise<NotVerified> {
  switch (refusal.kind) {
    case 'unanswered':
      quoted.client.budget.refund()
      return refused({ code: 'payment_verification_unavailable' })
    case 'unavailable':
      return refused({ code: 'payment_verification_unavailable' })
    case 'clock_wrong':
      return refused({ code: 'clock_wrong' })
    case 'unknown':
      return outcomeUnknown()
    case 'refused':
      return refusedPayment(refusal.code, refusal.reason)
    case 'maybe_settled':
      return search(payments, quoted, refusal.observation)
  }
}

/**
 * Searches the logs of the token for an earlier settlement. After a 402 without this search the client would sign a
 * second payment.
 */
async function search(
  payments: PaymentServices,
  quoted: QuotedPayment,
  observation: Observation,
): Promise<NotVerified> {
  const { checked, client } = quoted
  const limited = client.budget.spend(WEIGHTS.search)
  if (limited) return limited
  const found = await findEarlierSettlement(payments, checked, observation)
  return found.kind === 'already_settled' ? found : refuse(payments, quoted, found)
}
