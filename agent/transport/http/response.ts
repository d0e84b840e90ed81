/** Turns outcomes into HTTP responses, and sends them. */
import { STATUS_CODES, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { gzip } from 'node:zlib'
import type { Request } from 'express'
import { refused, type Outcome } from '../../operation/outcome.ts'
import { REFUSALS, refusalBody, retryAfterOf, type Refusal } from '../../operation/refusal.ts'
import { PAYMENT_HEADERS } from '../../payment/terms.ts'
import { REQUEST_ID_HEADER } from './request.ts'

/** A year: the usual value. */
const HSTS_SECONDS = 31_536_000

/** In a smaller answer compression saves less time on the network than it costs. A quote is never as large. */
const LARGE_CHARACTERS_MIN = 16_384
/**
 * Answers that are compressed at the same time, twice the threads. A further one is sent as it is. Each takes 256 KiB
 * beside the answer, which has at most 2.3 MiB.
 */
const COMPRESSING_MAX = 8

/** CORS lets browser clients pay (contract 7.7). The other headers restrict what a browser does with an answer. */
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

export interface HttpResponseContent {
  status: number
  headers: Record<string, string>
  /** JSON text. */
  body: string
}

/** Caches must not store paid answers or quotes (contract 7.8). */
export const PRIVATE_JSON = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'private, no-store' }

/** What a client that has only the URL reads about the payment (RFC 8288). */
const QUOTE_LINKS = '</openapi.json>; rel="service-desc", </llms.txt>; rel="llms-txt"'

export function renderOutcome(outcome: Outcome): HttpResponseContent {
  if (outcome.kind === 'answer') {
    const headers = { ...PRIVATE_JSON, [PAYMENT_HEADERS.response]: outcome.paymentResponse }
    return { status: 200, headers, body: outcome.body }
  }
  const { refusal, quote, paymentResponse } = outcome
  const { status } = REFUSALS[refusal.code]
  const retryAfter = retryAfterOf(refusal)
  const headers: Record<string, string> = { ...PRIVATE_JSON }
  if (quote) {
    headers[PAYMENT_HEADERS.required] = quote.header
    headers['Link'] = QUOTE_LINKS
  }
  if (paymentResponse !== undefined) headers[PAYMENT_HEADERS.response] = paymentResponse
  if (retryAfter !== undefined) headers['Retry-After'] = String(retryAfter)
  if (refusal.allow !== undefined) headers['Allow'] = refusal.allow
  const body = JSON.stringify(refusalBody(refusal))
  // Appends the JSON text of the quote. Encoding it again makes the benchmark row `quote` more than 10 % slower.
  return { status, headers, body: quote ? `${body.slice(0, -1)},${quote.members}` : body }
}

/** In this process, whose threads they share. */
let compressing = 0

/** Does nothing when the client has disconnected. A paid answer is stored, so the client can repeat the request. */
export function sendResponse(response: ServerResponse, { status, headers, body }: HttpResponseContent): void {
  if (response.headersSent || response.destroyed) return
  const send = (form: string | Buffer, encoding: object = {}) => {
    if (response.destroyed) return
    response.writeHead(status, { ...headers, ...encoding, 'Content-Length': Buffer.byteLength(form) })
    response.end(response.req.method === 'HEAD' ? undefined : form)
  }
  if (status !== 200 || body.length < LARGE_CHARACTERS_MIN) return send(body)
  // A string that waits for its reader takes several times its size.
  const bytes = Buffer.from(body)
  response.setHeader('Vary', [response.getHeader('Vary') ?? [], 'Accept-Encoding'].flat().join(', '))
  if (!acceptsGzip(response.req) || compressing >= COMPRESSING_MAX) return send(bytes)
  compressing += 1
  // In another thread, because the largest answer takes tens of milliseconds.
  gzip(bytes, (error, compressed) => {
    compressing -= 1
    if (error) send(bytes)
    else send(compressed, { 'Content-Encoding': 'gzip' })
  })
}

/** Every client that decompresses knows gzip, so there is no other form. */
export function acceptsGzip(request: IncomingMessage): boolean {
  return (request as Request).acceptsEncodings('gzip', 'identity') === 'gzip'
}

export function refuse(response: ServerResponse, refusal: Refusal): void {
  sendResponse(response, renderOutcome(refused(refusal)))
}

/** Refuses a request and ends its connection, although the client may still send the rest of the body. */
export function refuseAndClose(response: ServerResponse, refusal: Refusal): void {
  const { req } = response
  // `writeAndClose` sends this header itself.
  response.removeHeader('Connection')
  writeAndClose(req.socket, refusal, { headers: response.getHeaders(), method: req.method })
  req.resume()
}

/** The time in which a client can read the answer. What it sends meanwhile is discarded. */
const LINGER_MS = 1_000

/**
 * Writes a refusal without Node's HTTP layer, which would close at once, and closes the connection when the client has
 * read it. An answer to HEAD has no body.
 */
export function writeAndClose(
  socket: Socket,
  refusal: Refusal,
  { headers, method }: { headers: OutgoingHttpHeaders; method?: string | undefined },
): void {
  const { status, headers: own, body } = renderOutcome(refused(refusal))
  const last = { 'Content-Length': Buffer.byteLength(body), Date: new Date().toUTCString(), Connection: 'close' }
  const lines = Object.entries({ ...headers, ...own, ...last }).map(([name, value]) => `${name}: ${String(value)}\r\n`)
  const content = method === 'HEAD' ? '' : body
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${content}`)
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => clearTimeout(timer))
  socket.once('end', () => socket.destroySoon())
  socket.resume()
}
