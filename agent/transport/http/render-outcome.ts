/** Turns an outcome, or an error of the HTTP protocol, into the status, headers and body of a response. */
import { refused, type Outcome } from '../../operation/outcome.ts'
import { REFUSALS, refusalBody, type WIRE_CODES } from '../../operation/refusal.ts'
import { PAYMENT_HEADERS } from '../../payment/terms.ts'

export interface HttpResponseContent {
  status: number
  headers: Record<string, string>
  /** JSON text. */
  body: string
}

/** Caches must not store paid answers or quotes (contract 7.7). */
const PRIVATE_JSON = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'private, no-store' }

export function renderOutcome(outcome: Outcome): HttpResponseContent {
  if (outcome.kind === 'answer') {
    const headers = { ...PRIVATE_JSON, [PAYMENT_HEADERS.response]: outcome.paymentResponse }
    return { status: 200, headers, body: outcome.body }
  }
  const { refusal, quote, paymentResponse } = outcome
  const { status, retryAfterSeconds } = REFUSALS[refusal.code]
  const retryAfter = refusal.retryAfterSeconds ?? retryAfterSeconds
  const headers: Record<string, string> = { ...PRIVATE_JSON }
  if (quote) headers[PAYMENT_HEADERS.required] = quote.header
  if (paymentResponse !== undefined) headers[PAYMENT_HEADERS.response] = paymentResponse
  if (retryAfter !== undefined) headers['Retry-After'] = String(retryAfter)
  if (refusal.allow !== undefined) headers['Allow'] = refusal.allow
  const body = JSON.stringify(refusalBody(refusal))
  // Appends the JSON text of the quote. Encoding it again makes the benchmark row `quote` more than 10 % slower.
  const withQuote = quote ? `${body.slice(0, -1)},"payment_required":${quote.json}}` : body
  return { status, headers, body: withQuote }
}

/**
 * An error that is found before a request is routed, or on any route (contract 7.3). The connection ends with the
 * answer, because what follows cannot be trusted.
 */
export function renderWireError(code: (typeof WIRE_CODES)[number]): HttpResponseContent {
  const content = renderOutcome(refused({ code }))
  return { ...content, headers: { ...content.headers, Connection: 'close' } }
}
