/**
 * Performs one paid request, for REST and A2A, in the numbered steps of contract 6.1.1. The transports do steps 1 and 2.
 * Keep the order: local checks come before remote calls, the answer is stored before the payment is settled, and a payment
 * with a record is never checked again.
 */
import { refused, type Outcome } from '../operation/outcome.ts'
import { buildQuote } from '../payments/quote.ts'
import { settleFirst } from '../settlement/settle.ts'
import { buildRequirements } from '../payments/terms.ts'
import type { SkillContext } from '../skills/skill.ts'
import { admit } from './admit.ts'
import { claim } from './claim.ts'
import { describeConflict } from './conflict.ts'
import { refuseSettled } from './earlier-settlement.ts'
import { examine } from './examine.ts'
import type { RequestPayment } from './payment-decoder.ts'
import { prepare } from './prepare.ts'
import { checkReadiness } from './readiness.ts'
import { clockWrong, outcomeUnknown, recordOutcome, unknownIfFailed } from './record-outcome.ts'
import { replay, replayRecord } from './replay.ts'
import type { PaymentRefusal, SaleContext, SaleRequest, SaleResult } from './sale-context.ts'
import { observePayment, verifyPayment, type AlreadySettled } from './verify.ts'

/** Waits for the chain or for other processes end this long after the start of a request, 5 s before the end of a call. */
const WAITED_MS_MAX = 60_000

export async function perform(context: SaleContext, request: SaleRequest): Promise<Outcome> {
  const { operation, paymentHeaders, resourceUrl } = request
  const payment = context.paymentDecoder.decode(paymentHeaders, operation)
  const sold =
    payment.kind === 'payment'
      ? // Equal concurrent requests settle once: the first settles, the others find its record (contract 5.6.3).
        await context.paymentMutex.run(payment.identity, () => sell(context, request, payment), outcomeUnknown)
      : await sell(context, request, payment)
  const result = describeConflict(sold, operation, context)
  if (result.kind === 'answer') context.paymentDecoder.remember(paymentHeaders, operation, payment)
  if (result.kind !== 'payment_refused') return result
  const { terms } = context
  const quoted = buildQuote({ terms, operation: operation.operation, url: resourceUrl, reason: result.reason })
  const { paymentResponse } = result
  return { ...refused({ code: result.code }, quoted), ...(paymentResponse !== undefined && { paymentResponse }) }
}

async function sell(context: SaleContext, request: SaleRequest, payment: RequestPayment): Promise<SaleResult> {
  const { terms, payments, rateLimit, replayLimit, searchLimit } = context
  const { operation, resourceUrl, client } = request
  // A transport ends a call after 65 seconds.
  const patience = { until: payments.monotonic() + WAITED_MS_MAX, stopSignal: context.stopSignal }

  // 3. Replay: a payment with a record gets its stored response.
  const stored =
    payment.kind === 'payment' ? await replay(payments, payment, { replayLimit, client, patience }) : undefined
  if (stored) return stored

  // A stopping service begins no sale (contract 14.8).
  if (context.stopSignal.aborted) return refused({ code: 'overloaded' })

  // Concurrent sales of the transport (contract 4.5.10). After step 3, so that replays never wait for sales.
  using callSlot = request.callLimit?.take()
  if (callSlot?.refusal) return callSlot.refusal

  // With a wrong clock every payment looks late or early.
  if (payment.kind !== 'none' && payments.chain.isClockWrong()) return clockWrong()

  // Steps 6 and 7, evaluated early because admission needs the result.
  const examined = examine(payment, { terms, operation, resourceUrl, now: payments.now() })

  if (examined.kind === 'payment_refused') return quote(context, request, examined)

  // 4. Shared rate limit. The slot is released on every return below, unless it is explicitly kept.
  const admission = await admit(examined, { rateLimit, payments })
  if (admission.kind === 'refused') return admission
  using slot = admission

  // 5. State of the dataset.
  const unready = checkReadiness(operation, openSkillContext(context))
  if (unready) return unready

  // Another process may have sold for this payment since step 3. Its stored response then replaces the refusal.
  const refuseUnlessSold = async (refusal: SaleResult | AlreadySettled): Promise<SaleResult> => {
    const soldElsewhere = await replay(payments, examined, { patience })
    if (soldElsewhere) return soldElsewhere
    // The payer of a settled payment has not failed. A late payment fails always, because anyone can send it.
    if (refusal.kind !== 'already_settled' || examined.isLate) slot.markFailed()
    return refusal.kind === 'already_settled' ? refuseSettled(payments, examined.identity, refusal) : refusal
  }

  // 8. Code, balance and nonce of the payer on chain, and `verify` of the facilitator.
  const requirements = buildRequirements(terms, operation.operation)
  const quoted = { checked: examined, requirements, searchLimit, client }
  const observed = await observePayment(payments, quoted)
  if (observed.kind !== 'observed') return await refuseUnlessSold(observed)
  const verified = await verifyPayment(payments, quoted, observed)
  if (verified.kind !== 'verified') return await refuseUnlessSold(verified)

  // 9. The answer, from the snapshot that is current now.
  const prepared = prepare(operation, openSkillContext(context), payments.report)
  if (prepared.kind === 'refused') return await refuseUnlessSold(prepared)

  // Step 4 again: the payment is verified and an answer is sold for it, so the request now counts as paid.
  const full = await slot.confirmPaid()
  if (full) return full

  return await unknownIfFailed(payments.report, async () => {
    // 10. Response and intent to settle are stored.
    const { claimed, record } = await claim(payments, { checked: examined, requirements, verified, prepared })
    if (!claimed) {
      // The other process holds a slot for this sale.
      slot.release()
      return replayRecord(payments, record, { binding: examined.bind(), patience })
    }

    // 11 and 12. Settlement, and its outcome is stored.
    const settled = await settleFirst(payments, record, { start: observed, patience })

    // 13. The answer.
    return recordOutcome(settled)
  })
}

/** Steps 4 to 7 of a request without a payment, or with one that failed the local checks. */
function quote(context: SaleContext, { operation, client }: SaleRequest, refusal: PaymentRefusal): SaleResult {
  const limited = context.quoteLimit.check(client)
  if (limited) return limited
  const unready = checkReadiness(operation, openSkillContext(context))
  if (unready) return unready
  context.quoteLimit.count(client)
  return refusal
}

function openSkillContext({ catalog, terms, payments }: SaleContext): SkillContext {
  return { dataset: catalog.current(), hasSyntheticCompany: terms.mode === 'testnet', now: payments.now }
}
