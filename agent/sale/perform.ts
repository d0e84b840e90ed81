/**
 * Performs one request, for all transports, in the numbered steps of contract 6.1.1. The transports do steps 1 and 2.
 * Keep the order: local checks come before remote calls, the answer is stored before the payment is settled, and a
 * payment with a record is never checked again.
 */
import {
  rateLimited,
  refused,
  refusedPayment,
  type Outcome,
  type PaymentRefused,
  type Refused,
} from '../operation/outcome.ts'
import { itemsOf, type Operation } from '../operation/operation.ts'
import { buildQuote } from '../payment/quote.ts'
import type { PaymentServices } from '../settlement/services.ts'
import { CALL_MS_MAX } from '../settlement/rpc/time-limits.ts'
import { settle } from '../settlement/settle.ts'
import { decodePayload, payerPrefixOf } from '../payment/binding.ts'
import { checkPayment, endsLate, type CheckedPayment } from '../payment/payment-checks.ts'
import { describeInput } from '../answer/answers.ts'
import { WEIGHTS } from './limits/address-budget.ts'
import { storeClaim } from './claim.ts'
import { describeConflict, refuseSettled } from './conflict.ts'
import { checkReadiness, openAnswerContext, prepare } from './prepare.ts'
import { outcomeUnknown, recordOutcome, unknownIfFailed, type SaleOutcome } from './record-outcome.ts'
import { replay, replayIfSold, replayToWaiting } from './replay.ts'
import type { SaleContext, SaleRequest } from './sale-context.ts'
import { verifyAndReserve } from './verify.ts'

/** A refused batch of a hundred items then costs three times as much as a refused payment. */
const ITEMS_PER_UNIT = 10

/** A payer with so many payments of unknown outcome gets no further one that can be settled for up to an hour. */
const UNKNOWN_MAX = 4
/** An outcome usually becomes known with the next observations of the reconciler. */
const UNKNOWN_WAIT_MS = 30_000

/** A request waits for the chain and for other processes at most this long, so that a call over A2A or MCP can end. */
const WAITED_MS_MAX = CALL_MS_MAX - 5_000

export async function perform(context: SaleContext, request: SaleRequest): Promise<Outcome> {
  const { operation, resourceUrl } = request
  const outcome = await runSteps(context, request)
  if (outcome.kind === 'answer') return outcome
  if (outcome.kind === 'refused') return describeConflict(outcome, operation, context)
  const { reason, note, ...refusal } = outcome
  const quote = buildQuote({ terms: context.terms, operation, url: resourceUrl, reason, note })
  return { ...refusal, kind: 'refused', quote }
}

async function runSteps(context: SaleContext, request: SaleRequest): Promise<SaleOutcome> {
  const { payments } = context
  const { operation, client } = request
  const waitLimit = { until: payments.monotonic() + WAITED_MS_MAX, stopSignal: context.stopSignal }
  const payload = decodePayload(request.paymentHeaders, operation)

  // 3. Replay: a payment with a record gets its stored response.
  const replayed = payload.kind === 'payment' ? await replay(context, { payload, client, waitLimit }) : undefined
  if (replayed) return replayed

  // 4. What the transport does not sell, and the budget of the client's address.
  const limited = request.transportRefusal
    ? refused(request.transportRefusal)
    : refuseBeyondBudget(context, request, payload)
  if (limited) return limited

  // 5. State of the clock and of the dataset. With a wrong clock every payment looks late or early.
  if (payload.kind !== 'none' && payments.chain.isClockWrong()) return refused({ code: 'clock_wrong' })
  const unready = checkReadiness(context, operation)
  if (unready) return unready

  // 6. No payment.
  if (payload.kind === 'none') return requirePayment(context, operation)

  // 7. Local checks of the payment.
  const checked = checkPayload(context, request, payload)
  if (checked.kind === 'payment_refused') return checked

  // Equal concurrent requests settle once: the first settles, the others find its record (contract 5.6.3).
  using turn = await context.paymentMutex.enter(checked.bind().payment_hash)
  if (!turn) return outcomeUnknown()
  const retry = { payload: checked, client, waitLimit }
  // Thousands may have waited for one settlement.
  if (turn.hasWaited) await new Promise<void>(client.takeTurn)
  const soldMeanwhile = turn.hasWaited ? await replayIfSold(payments, retry) : undefined
  if (soldMeanwhile) return soldMeanwhile

  // 8. Code, balance and nonce of the payer on chain, and `verify` of the facilitator. If it is refused, another
  // process may have sold for this payment since step 3.
  const verification = await verifyAndReserve(context, checked, client)
  if (verification.kind === 'already_settled')
    return (await replayIfSold(payments, retry)) ?? (await refuseSettled(payments, checked.identity, verification))
  if (verification.kind !== 'verified') return (await replayIfSold(payments, retry)) ?? verification
  using verified = verification
  const unknown = await refuseUnknown(payments, checked)
  if (unknown) return unknown

  // 9. The answer, from the snapshot that is current now.
  const prepared = await prepare(context, request)
  if (prepared.kind === 'refused') return (await replayIfSold(payments, retry)) ?? prepared

  // Concurrent sales of the transport (contract 4.5.10).
  using call = await request.calls?.enter(client)
  if (request.calls && !call) return refused({ code: 'overloaded' })
  const waitLimitOfCall = { ...waitLimit, onWait: () => call?.[Symbol.dispose]() }

  const outcome = await unknownIfFailed(payments.report, async () => {
    // 10. Response and intent to settle are stored, and the sale is counted.
    const claim = await storeClaim(payments, { checked, verified, prepared, preparedAt: payments.now() })
    if (claim.kind === 'full') return rateLimited(claim.waitMs)
    if (claim.kind === 'taken') return replayToWaiting(payments, claim.record, { ...retry, waitLimit: waitLimitOfCall })
    client.noteSale()

    // 11 and 12. Settlement, and its outcome is stored.
    const record = await settle(payments, claim.record, { start: verified.start, waitLimit: waitLimitOfCall })

    // 13. The answer.
    const sale = recordOutcome(record)
    if (sale.kind === 'answer') client.budget.refundSale()
    return sale
  })
  // A sale beyond the limit of a minute has cost remote calls.
  if (outcome.kind === 'refused' && outcome.refusal.code !== 'rate_limited') client.budget.refund()
  return outcome
}

type Payload = ReturnType<typeof decodePayload>

function refuseBeyondBudget(
  { stopSignal }: SaleContext,
  { operation, client }: SaleRequest,
  { kind }: Payload,
): Refused | undefined {
  // A stopping service begins no sale (contract 14.4).
  if (stopSignal.aborted) return refused({ code: 'overloaded' })
  const units = kind === 'none' ? WEIGHTS.request : WEIGHTS.payment
  // A batch costs a further unit for every tenth item, so that the computation of refused ones is limited (4.11.5).
  return client.budget.raiseTo(units + Math.floor(itemsOf(operation).length / ITEMS_PER_UNIT))
}

function requirePayment(context: SaleContext, operation: Operation): PaymentRefused {
  const required = refusedPayment('payment_required', 'Payment is required')
  const noted = describeInput(operation, openAnswerContext(context))
  if (!noted) return required
  return { ...required, refusal: { ...required.refusal, detail: noted.detail }, note: noted.description }
}

function checkPayload(
  { terms, payments }: SaleContext,
  { operation, resourceUrl }: SaleRequest,
  payload: Exclude<Payload, { kind: 'none' }>,
): CheckedPayment | PaymentRefused {
  if (payload.kind === 'unreadable') return refusedPayment('payment_invalid', payload.reason)
  return checkPayment(payload, { terms, operation, resourceUrl, now: payments.now() })
}

/** Limits what a payer of long payments leaves open. If the log fails, the claim fails as well. */
async function refuseUnknown({ log, now }: PaymentServices, checked: CheckedPayment): Promise<Refused | undefined> {
  const { identity, payment } = checked
  if (!endsLate(payment.payload.authorization, now())) return undefined
  const unknown = await log.countUnknown(payerPrefixOf(identity)).catch(() => 0)
  return unknown >= UNKNOWN_MAX ? rateLimited(UNKNOWN_WAIT_MS) : undefined
}
