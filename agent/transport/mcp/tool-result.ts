/** Turns an outcome into the result of a tool call, as the MCP transport of x402 v2 describes. */
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Outcome } from '../../operation/outcome.ts'
import { REFUSALS, refusalBody, type Refusal } from '../../operation/refusal.ts'
import { PAYMENT_RESPONSE_META } from '../../payment/receipt/claims.ts'

export const PAYMENT_META = 'x402/payment'
/** Where the client of Cloudflare's `agents` reads the quote. */
const QUOTE_META = 'x402/error'

export function toToolResult(outcome: Outcome): CallToolResult {
  if (outcome.kind === 'answer') {
    return { ...toContent(outcome.body), _meta: { [PAYMENT_RESPONSE_META]: decodeReceipt(outcome.paymentResponse) } }
  }
  const { refusal, quote, paymentResponse } = outcome
  const error = describe(refusal)
  if (!quote) return { ...toContent(JSON.stringify(error)), isError: true }
  // The first text is the quote alone, for clients that parse it. The code of the refusal follows.
  const { content, structuredContent } = toContent(quote.json)
  const failed = paymentResponse !== undefined && { [PAYMENT_RESPONSE_META]: decodeReceipt(paymentResponse) }
  return {
    content: [...content, { type: 'text', text: JSON.stringify(error) }],
    structuredContent,
    isError: true,
    _meta: { [QUOTE_META]: structuredContent, ...failed },
  }
}

function decodeReceipt(paymentResponse: string): unknown {
  return JSON.parse(Buffer.from(paymentResponse, 'base64').toString())
}

/** The error body of REST, with the advice and the value of `Retry-After` in the member `next`. */
function describe(refusal: Refusal): object {
  const { error, ...rest } = refusalBody(refusal)
  return { error, ...rest, next: nextStep(refusal) }
}

function nextStep({ code, retryAfterSeconds }: Refusal): object {
  const { advice, charged } = REFUSALS[code]
  const seconds = retryAfterSeconds ?? (REFUSALS[code] as { retryAfterSeconds?: number }).retryAfterSeconds
  return { advice, charged, ...(seconds !== undefined && { retry_after_seconds: seconds }) }
}

function toContent(json: string) {
  const structuredContent = JSON.parse(json) as Record<string, unknown>
  return { content: [{ type: 'text' as const, text: json }], structuredContent }
}

/**
 * The payment of a call as values of a payment header. An object is the form of the x402 specification; some clients
 * send base64 text, which is the value of the header itself.
 */
export function paymentHeadersOf(payment: unknown): readonly string[] {
  if (payment === undefined || payment === null) return []
  if (typeof payment === 'string') return [payment]
  return [Buffer.from(JSON.stringify(payment)).toString('base64')]
}
