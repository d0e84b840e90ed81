/** Maps the state of a record to the outcome of the request. */
import type { ResponseRecord } from '../../store/log/record.ts'
import type { Report } from '../../base/runtime.ts'
import { DiskSpaceError } from '../../store/files/disk-space.ts'
import { LostFileError } from '../../store/files/environment.ts'
import {
  refused,
  refusedPayment,
  type Outcome,
  type PaymentRefused,
  type QuoteReason,
  type Refused,
} from '../operation/outcome.ts'
import { failedResponse } from '../payment/recorded-payment.ts'
import { withReceipt } from '../settlement/receipts.ts'
import { STATE_RULES } from '../settlement/states.ts'

/** What the steps of a sale return. `perform` adds the quote to a 402. */
export type SaleOutcome = Outcome | PaymentRefused

/** `waitMs`: the time until a retry reads the chain again. */
export function recordOutcome(record: ResponseRecord, waitMs = 0): SaleOutcome {
  const { buyer } = STATE_RULES[record.state]
  switch (buyer) {
    case 'answer':
      return storedAnswer(record)
    case 'outcome_unknown':
      return outcomeUnknown(waitMs)
    case 'settlement_refused':
    case 'authorization_expired':
      return settlementFailed(record, buyer)
  }
}

function settlementFailed(record: ResponseRecord, reason: QuoteReason): PaymentRefused {
  return { ...refusedPayment('payment_failed', reason), paymentResponse: failedResponse(record, reason) }
}

export function outcomeUnknown(waitMs = 0): Refused {
  return refused({
    code: 'payment_outcome_unknown',
    ...(waitMs > 0 && { retryAfterSeconds: Math.ceil(waitMs / 1000) }),
  })
}

/**
 * Turns a failure of `work` into an unknown outcome, because the payment may have been settled, and common clients sign
 * a second payment after any other error. A sale that did not begin, because the disk is nearly full or the log is
 * gone, is refused instead.
 */
export async function unknownIfFailed<T>(report: Report, work: () => Promise<T>): Promise<T | Refused> {
  try {
    return await work()
  } catch (cause) {
    report('sale_failed', cause)
    // Thrown before the record is written, so nothing was sent to the facilitator.
    return cause instanceof DiskSpaceError || cause instanceof LostFileError
      ? refused({ code: 'overloaded' })
      : outcomeUnknown()
  }
}

function storedAnswer({ body, payment_response, receipt, identity, payment_hash }: ResponseRecord): Outcome {
  if (payment_response === null) throw new Error('A settled record has no payment response')
  const paymentResponse = withReceipt(payment_response, receipt)
  return { kind: 'answer', body, paymentResponse, purchaseKey: `${identity} ${payment_hash}` }
}
