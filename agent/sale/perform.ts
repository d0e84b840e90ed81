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
import type { SettlementServices } from '../settlement/services.ts'
import { CALL_MS_MAX } from '../settlement/rpc/time-limits.ts'
import { settle } from '../settlement/settle.ts'
import { decodePayload } from '../payment/binding.ts'
import { checkPayment, type CheckedPayment } from '../payment/payment-checks.ts'
import { describeInput } from '../answer/answers.ts'
import { WEIGHTS } from './limits/address-budget.ts'
import { countAndStore } from './claim.ts'
import { describeConflict, refuseSettled } from './conflict.ts'
import { checkReadiness, openAnswerContext, prepare } from './prepare.ts'
import { outcomeUnknown, recordOutcome, unknownIfFailed, type SaleOutcome } from './record-outcome.ts'
import { replay, replayIfSold, replayToWaiting, takeTurn } from './replay.ts'
import type { SaleContext, SaleRequest } from './sale-context.ts'
import { verifyAndReserve } from './verify.ts'

/** A refused batch of a hundred items then costs three times as much as a refused payment. */
const ITEMS_PER_UNIT = 10

/** A request waits for the chain and for other processes at most this long, so that a call over A2A or MCP can end. */
const WAITED_MS_MAX = CALL_MS_MAX - 5_000

export async function perform(context: SaleContext, request: SaleRequest): Promise<Outcome> {
  const { operation, resourceUrl } = request
  const outcome = await runSteps(context, request)
  if (outcome.kind === 'answer') return outcome
  if (outcome.kind === 'refused') return describeConflict(outcome, operation, context)
  const { reason, note, ...refusal } = outcome
  const quote = buildQuote({ terms: context.terms, operation, url: resourceUrl, reason, note })
  return { ...refusal, kind: 'refused', refusal: { ...refusal.refusal, reason }, quote }
}

/** The steps 3 to 13. */
async function runSteps(context: SaleContext, request: SaleRequest): Promise<SaleOutcome> {
  const { services, stopSignal } = context
  const { operation, client, calls } = request
  const payload = decodePayload(request.paymentHeaders, operation)
  const waitLimit = { until: services.monotonic() + WAITED_MS_MAX, stopSignal }
  const early =
    // 3. A payment with a record gets its stored response.
    (payload.kind === 'payment' ? await replay(context, { payload, client, waitLimit }) : undefined) ??
    // 4. What the transport does not sell, and the budget of the client's address.
    checkAdmission(context, request, payload) ??
    // 5. The local clock, and the state of the dataset.
    checkClock(services, payload) ??
    checkReadiness(context, operation)
  if (early) return early

  // 6. A request without a payment gets a quote. 7. Form, terms and signature of the payment.
  const checked = payload.kind === 'none' ? requirePayment(context, operation) : checkPayload(context, request, payload)
  if (checked.kind === 'payment_refused') return checked

  // Equal concurrent requests settle once: the first settles, the others find its record (contract 5.6.3).
  using turn = await takeTurn(context, checked.bind(), client)
  if (!turn) return outcomeUnknown()
  const retry = { payload: checked, client, waitLimit }
  const soldMeanwhile = turn.hasWaited ? await replayIfSold(services, retry) : undefined
  if (soldMeanwhile) return soldMeanwhile

  // 8. Code, balance and nonce of the payer on chain, and `verify` of the facilitator.
  const verification = await verifyAndReserve(context, checked, client)
  if (verification.kind !== 'verified') return await refuseUnlessSold(services, retry, verification)
  using verified = verification
  client.noteVerified()

  // 9. The answer, from the snapshot that is current now.
  const prepared = await prepare(context, request)
  if (prepared.kind === 'refused') return await refuseUnlessSold(services, retry, prepared)

  // Concurrent sales of the transport (contract 4.5.10).
  using call = await calls?.enter(client)
  if (calls && !call) return refused({ code: 'overloaded' })

  // 10 to 13.
  const sale = { ...retry, waitLimit: { ...waitLimit, onWait: () => call?.[Symbol.dispose]() } }
  return await sell(context, sale, { checked, verified, prepared })
}

type Retry = Parameters<typeof replayIfSold>[1]

/** Before step 10. Another process may have sold for this payment since step 3. */
async function refuseUnlessSold(
  services: SettlementServices,
  retry: Retry,
  refusal: Exclude<Awaited<ReturnType<typeof verifyAndReserve>>, { kind: 'verified' }>,
): Promise<SaleOutcome> {
  const sold = await replayIfSold(services, retry)
  if (sold) return sold
  return refusal.kind === 'already_settled' ? refuseSettled(services, retry.payload.identity, refusal) : refusal
}

/** Steps 10 to 13. */
async function sell(
  context: SaleContext,
  retry: Retry,
  sale: Parameters<typeof countAndStore>[1],
): Promise<SaleOutcome> {
  const { services } = context
  const { client, waitLimit } = retry
  const outcome = await unknownIfFailed(services.report, async () => {
    // 10. The sale is counted, and response and intent to settle are stored.
    const claim = await countAndStore(context, sale)
    if (claim.kind === 'full') return await refuseUnlessSold(services, retry, rateLimited(claim.waitMs))
    if (claim.kind === 'taken') return replayToWaiting(services, claim.record, retry)
    // 11 and 12. Settlement, and its outcome is stored.
    const record = await settle(services, claim.record, { start: sale.verified.start, waitLimit })
    if (record.state === 'refused') claim.noteRefusal()
    // 13. The answer.
    const answered = recordOutcome(record)
    if (answered.kind === 'answer') client.budget.refundSale()
    return answered
  })
  // A sale beyond the limit of a minute has cost remote calls.
  if (outcome.kind === 'refused' && outcome.refusal.code !== 'rate_limited') client.budget.refund()
  return outcome
}

type Payload = ReturnType<typeof decodePayload>

function checkAdmission(
  { stopSignal }: SaleContext,
  { operation, client, transportRefusal }: SaleRequest,
  { kind }: Payload,
): Refused | undefined {
  if (transportRefusal) return refused(transportRefusal)
  // A stopping service begins no sale (contract 14.19).
  if (stopSignal.aborted) return refused({ code: 'overloaded' })
  const units = kind === 'none' ? WEIGHTS.request : WEIGHTS.payment
  // A batch costs a further unit for every tenth item, so that the computation of refused ones is limited (4.11.5).
  return client.budget.raiseTo(units + Math.floor(itemsOf(operation).length / ITEMS_PER_UNIT))
}

/** With a wrong clock every payment looks late or early. */
function checkClock({ chain }: SettlementServices, { kind }: Payload): Refused | undefined {
  return kind !== 'none' && chain.isClockWrong() ? refused({ code: 'clock_wrong' }) : undefined
}

function requirePayment(context: SaleContext, operation: Operation): PaymentRefused {
  const required = refusedPayment('payment_required', 'Payment is required')
  const noted = describeInput(operation, openAnswerContext(context))
  if (!noted) return required
  return { ...required, refusal: { ...required.refusal, detail: noted.detail }, note: noted.description }
}

function checkPayload(
  { terms, services }: SaleContext,
  { operation, resourceUrl }: SaleRequest,
  payload: Exclude<Payload, { kind: 'none' }>,
): CheckedPayment | PaymentRefused {
  if (payload.kind === 'unreadable') return refusedPayment('payment_invalid', payload.reason, payload.fault)
  return checkPayment(payload, { terms, operation, resourceUrl, now: services.now() })
}
