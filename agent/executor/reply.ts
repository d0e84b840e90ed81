/** How an outcome looks over HTTP: the one place that turns it into a status, headers and a body. */
import type { Outcome } from '../operation/outcome.ts'
import { REFUSALS, refusalBody } from '../operation/refusal.ts'
import { PAYMENT_HEADERS } from '../payments/terms.ts'

export interface Reply {
  status: number
  headers: Record<string, string>
  /** JSON text. */
  body: string
}

/** Nothing that was bought, and no quote, may be kept by a cache between us and the buyer. */
const PRIVATE = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'private, no-store' }

export function replyTo(outcome: Outcome): Reply {
  if (outcome.kind === 'answer') {
    const headers = { ...PRIVATE, [PAYMENT_HEADERS.response]: outcome.paymentResponse }
    return { status: 200, headers, body: outcome.body }
  }
  const { refusal, quote } = outcome
  const headers: Record<string, string> = { ...PRIVATE }
  if (quote) headers[PAYMENT_HEADERS.required] = quote.header
  if (refusal.retryAfterSeconds !== undefined) headers['Retry-After'] = String(refusal.retryAfterSeconds)
  if (refusal.allow !== undefined) headers['Allow'] = refusal.allow
  const body = JSON.stringify(refusalBody(refusal))
  // The quote is JSON already, and longer than the rest: it becomes the body's last member as it is.
  const whole = quote ? `${body.slice(0, -1)},"payment_required":${quote.json}}` : body
  return { status: REFUSALS[refusal.code].status, headers, body: whole }
}
