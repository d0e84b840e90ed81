/**
 * Performs one paid request, for all transports, in the numbered steps of contract 6.1.1. The transports do steps 1 and
 * 2. Keep the order: local checks come before remote calls, the answer is stored before the payment is settled, and a
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
import { settle, type WaitLimit } from '../settlement/settle.ts'
import { decodePayment, payerPrefixOf } from '../payment/binding.ts'
import { endsLate, examine, type CheckedPayment } from '../payment/payment-checks.ts'
import type { AnswerContext } from '../answer/registers.ts'
import { describeInput } from '../answer/answers.ts'
import { WEIGHTS, type Client } from './limits/address-budget.ts'
import { storeClaim } from './claim.ts'
import { describeConflict, refuseSettled } from './conflict.ts'
import { checkReadiness, prepare } from './prepare.ts'
import { outcomeUnknown, recordOutcome, unknownIfFailed, type Sold } from './record-outcome.ts'
import { replay, replayToWaiting } from './replay.ts'
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
  const { operation, paymentHeaders, resourceUrl } = request
  const payment = decodePayment(paymentHeaders, operation)
  const sold = payment.kind === 'none' ? performUnpaid(context, request) : await performPaid(context, request, payment)
  switch (sold.kind) {
    case 'answer':
      return sold
    case 'refused':
      return describeConflict(sold, operation, context)
    case 'payment_refused': {
      const { reason, note, ...refusal } = sold
      return {
        ...refusal,
        kind: 'refused',
        quote: buildQuote({ terms: context.terms, operation, url: resourceUrl, reason, note }),
      }
    }
  }
}

/** A request without a payment. */
function performUnpaid(context: SaleContext, { operation, client, notSold }: SaleRequest): Sold {
  if (notSold) return refused(notSold)
  return (
    refuseIfStopping(context) ??
    // 4. Budget of the client's address.
    client.budget.raiseTo(weightOf(operation, WEIGHTS.request)) ??
    // 5. State of the dataset.
    checkReadiness(operation, openAnswerContext(context)) ??
    // 6. No payment.
    requirePayment(context, operation)
  )
}

function requirePayment(context: SaleContext, operation: Operation): PaymentRefused {
  const required = refusedPayment('payment_required', 'Payment is required')
  const noted = describeInput(operation, openAnswerContext(context))
  if (!noted) return required
  return { ...required, refusal: { ...required.refusal, detail: noted.detail }, note: noted.description }
}

/** A request with a payment. */
async function performPaid(
  context: SaleContext,
  request: SaleRequest,
  payment: Exclude<ReturnType<typeof decodePayment>, { kind: 'none' }>,
): Promise<Sold> {
  const { terms, payments } = context
  const { operation, resourceUrl, client } = request
  const waitLimit = { until: payments.monotonic() + WAITED_MS_MAX, stopSignal: context.stopSignal }

  // 3. Replay: a payment with a record gets its stored response.
  const stored = payment.kind === 'payment' ? await replay(context, payment, { client, waitLimit }) : undefined
  if (stored) return stored
  if (request.notSold) return refused(request.notSold)

  // 4. Budget of the client's address.
  const limited = refuseIfStopping(context) ?? client.budget.raiseTo(weightOf(operation, WEIGHTS.payment))
  if (limited) return limited

  // With a wrong clock every payment looks late or early.
  if (payments.chain.isClockWrong()) return refused({ code: 'clock_wrong' })

  // 5. State of the dataset.
  const unready = checkReadiness(operation, openAnswerContext(context))
  if (unready) return unready

  // 7. Local checks of the payment.
  if (payment.kind === 'unreadable') return refusedPayment('payment_invalid', payment.reason)
  const examined = examine(payment, { terms, operation, resourceUrl, now: payments.now() })
  if (examined.kind === 'payment_refused') return examined

  // Equal concurrent requests settle once: the first settles, the others find its record (contract 5.6.3).
  return context.paymentMutex.run<Sold>(
    examined.bind().payment_hash,
    (hasWaited) => sell(context, request, { examined, hasWaited, waitLimit }),
    () => outcomeUnknown(),
  )
}

interface Sale {
  examined: CheckedPayment
  /** Whether another request with the same payload has ended since step 3. */
  hasWaited: boolean
  waitLimit: WaitLimit
}

async function sell(context: SaleContext, request: SaleRequest, sale: Sale): Promise<Sold> {
  const { examined, hasWaited } = sale
  const { payments } = context
  const { operation, client } = request

  // Thousands may have waited for one settlement.
  if (hasWaited) await new Promise<void>(client.takeTurn)
  const soldMeanwhile = hasWaited ? await replayIfSold(context, request, sale) : undefined
  if (soldMeanwhile) return soldMeanwhile

  // 8. Code, balance and nonce of the payer on chain, and `verify` of the facilitator.
  const verified = await verifyAndReserve(payments, { checked: examined, client }, context)
  if (verified.kind !== 'verified') {
    // Another process may have sold for this payment since step 3. Its stored response then replaces the refusal.
    const soldElsewhere = await replayIfSold(context, request, sale)
    if (soldElsewhere) return soldElsewhere
    return verified.kind === 'already_settled' ? refuseSettled(payments, examined.identity, verified) : verified
  }
  using held = verified
  const limited = await refuseUnknown(payments, examined)
  if (limited) return limited

  // 9. The answer, from the snapshot that is current now.
  const prepared = await prepare(operation, {
    openContext: () => openAnswerContext(context),
    report: payments.report,
    enter: () => context.computations.enter(client),
  })
  if (prepared.kind === 'refused') return (await replayIfSold(context, request, sale)) ?? prepared

  // Concurrent sales of the transport (contract 4.5.10).
  using call = await request.calls?.enter(client)
  if (request.calls && !call) return refused({ code: 'overloaded' })

  const purchase = { checked: examined, verified: held, prepared, preparedAt: payments.now() }
  const onWait = () => call?.[Symbol.dispose]()
  const sold = await unknownIfFailed(payments.report, () =>
    claimAndSettle(context, purchase, { client, waitLimit: { ...sale.waitLimit, onWait } }),
  )
  // A sale beyond the limit of a minute has cost remote calls.
  if (sold.kind === 'refused' && sold.refusal.code !== 'rate_limited') client.budget.refund()
  return sold
}

async function claimAndSettle(
  { payments }: SaleContext,
  purchase: Parameters<typeof storeClaim>[1],
  { client, waitLimit }: { client: Client; waitLimit: WaitLimit },
): Promise<Sold> {
  const { checked, verified } = purchase
  // 10. Response and intent to settle are stored, and the sale is counted.
  const claim = await storeClaim(payments, purchase)
  if (claim.kind === 'full') return rateLimited(claim.waitMs)
  if (claim.kind === 'taken') return replayToWaiting(payments, claim.record, { client, payment: checked, waitLimit })
  client.noteSale()

  // 11 and 12. Settlement, and its outcome is stored.
  const settled = await settle(payments, claim.record, { start: verified.start, waitLimit })

  // 13. The answer.
  const sold = recordOutcome(settled)
  if (sold.kind === 'answer') client.budget.refundSale()
  return sold
}

/** Limits what a payer of long payments leaves open. If the log fails, the claim fails as well. */
async function refuseUnknown({ log, now }: PaymentServices, checked: CheckedPayment): Promise<Refused | undefined> {
  const { identity, payment } = checked
  if (!endsLate(payment.payload.authorization, now())) return undefined
  const unknown = await log.countUnknown(payerPrefixOf(identity)).catch(() => 0)
  return unknown >= UNKNOWN_MAX ? rateLimited(UNKNOWN_WAIT_MS) : undefined
}

/**
 * The stored response, if another request or process has sold for this payment since step 3. The record of another
 * payment with the same id does not count: steps 3 and 10 compare the id.
 */
function replayIfSold(
  { payments }: SaleContext,
  { client }: SaleRequest,
  { examined, waitLimit }: Sale,
): Promise<Sold | undefined> {
  return unknownIfFailed(payments.report, async () => {
    const record = await payments.log.read(examined.identity)
    return record && replayToWaiting(payments, record, { client, payment: examined, waitLimit })
  })
}

/**
 * A batch costs a further unit for every tenth item, so that the computation of refused ones is limited (contract
 * 4.11.5).
 */
function weightOf(operation: Operation, units: number): number {
  return units + Math.floor(itemsOf(operation).length / ITEMS_PER_UNIT)
}

/** A stopping service begins no sale (contract 14.4). */
function refuseIfStopping({ stopSignal }: SaleContext): Refused | undefined {
  return stopSignal.aborted ? refused({ code: 'overloaded' }) : undefined
}

function openAnswerContext({ catalog, journal, terms, payments }: SaleContext): AnswerContext {
  const hasSyntheticCompany = terms.mode === 'testnet'
  return { dataset: catalog.current(), journal, hasSyntheticCompany, now: payments.now }
}
