/** The errors of the buyer's library. Each has a stable code and says whether a payment was sent. */
import type { ServiceAnswer } from './service-answer.ts'

/** What the caller does next. */
const ADVICE = {
  request_unsupported: 'Use GET or POST with a text body, and no payment header.',
  quote_unexpected: 'Check the service and the expected terms.',
  price_above_limit: 'Raise the limit for one request, or do not buy.',
  day_limit_reached: 'Wait until the next day in UTC, or raise the limit of the day.',
  spending_unknown: 'Restore the missing or damaged file, or begin the day again with --reset-day.',
  purchase_unreadable: 'Keep the file. It may hold a payment that was sent.',
  outcome_unknown: 'Repeat the same request. The same payment is sent again and charged at most once.',
  payment_refused: 'Remove the reason that the answer names. To sign again, use another Idempotency-Key.',
  answer_unexpected: 'Keep the file of the purchase, which has the answer, and contact the operator.',
  receipt_invalid: 'Keep the file of the purchase, which has the answer, and contact the operator.',
} as const

export type PurchaseErrorCode = keyof typeof ADVICE

interface PurchaseErrorOptions extends ErrorOptions {
  /** The file of the purchase, if a payment was signed. */
  file?: string
  answer?: ServiceAnswer
}

export class PurchaseError extends Error {
  override readonly name = 'PurchaseError'
  readonly code: PurchaseErrorCode
  /** The file of the purchase. Undefined if nothing was signed. */
  readonly file: string | undefined
  /** The answer of the service to the payment: its status, code, reason and charge. Undefined if none arrived. */
  readonly answer: ServiceAnswer | undefined

  constructor(code: PurchaseErrorCode, message: string, { file, answer, ...options }: PurchaseErrorOptions = {}) {
    super(message, options)
    this.code = code
    this.file = file
    this.answer = answer
  }

  get advice(): string {
    return ADVICE[this.code]
  }
}
