/** Sends HTTP responses, and defines the headers that all of them share. */
import type { ServerResponse } from 'node:http'
import compression from 'compression'
import type { Request, Response } from 'express'
import { refused } from '../../operation/outcome.ts'
import type { Refusal } from '../../operation/refusal.ts'
import { PAYMENT_HEADERS } from '../../payment/terms.ts'
import { renderOutcome, type HttpResponseContent } from './render-outcome.ts'
import { REQUEST_ID_HEADER } from './request-id.ts'

/** A year: the usual value. */
const HSTS_SECONDS = 31_536_000

/** In a smaller answer compression saves less time on the network than it costs. A quote is never as large. */
const COMPRESSED_BYTES_MIN = 16_384
const compress = compression({ threshold: COMPRESSED_BYTES_MIN })

/** CORS lets browser clients pay (contract 7.5). The other headers restrict what a browser does with an answer. */
const COMMON_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': `${PAYMENT_HEADERS.required}, ${PAYMENT_HEADERS.response}, Retry-After, ${REQUEST_ID_HEADER}`,
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
}

/** The headers of every response. The HTTP server sets them before a request is routed. */
export function commonHeaders(baseUrl: string | undefined): Readonly<Record<string, string>> {
  if (!baseUrl?.startsWith('https:')) return COMMON_HEADERS
  return { ...COMMON_HEADERS, 'Strict-Transport-Security': `max-age=${HSTS_SECONDS}` }
}

/** Emitted for a response whose body is held back, for example until it is compressed, with its size in bytes. */
export const HELD_EVENT = 'held'

/** Does nothing when the client has disconnected. A paid answer is stored, so the client can repeat the request. */
export function sendResponse(response: ServerResponse, { status, headers, body }: HttpResponseContent): void {
  if (response.headersSent || response.destroyed) return
  const bytes = Buffer.byteLength(body)
  const send = () => {
    response.writeHead(status, { ...headers, 'Content-Length': bytes })
    response.end(response.req.method === 'HEAD' ? undefined : body)
  }
  if (status === 200 && bytes >= COMPRESSED_BYTES_MIN) compress(response.req as Request, response as Response, send)
  else send()
}

export function refuse(response: ServerResponse, refusal: Refusal): void {
  sendResponse(response, renderOutcome(refused(refusal)))
}

export function methodNotAllowed(allow: string): Refusal {
  return { code: 'method_not_allowed', allow }
}
