/** HTTP requests without the changes that `fetch` makes: it normalises paths, drops a bare `?` and joins headers. */
import { once } from 'node:events'
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import { expect } from 'chai'
import { isDataError, NEXT, REFUSALS } from '../../agent/operation/refusal.ts'
import { checkAnswer } from './openapi-check.ts'

export interface RawRequest {
  /** The base URL of the service. Only its host and port are used. */
  url: string
  method?: string
  /** The request target, byte for byte. */
  path: string
  /** An array sends the header once per value. */
  headers?: Record<string, string | string[]>
  body?: string | Uint8Array
  /** Sends the body with chunked transfer encoding, without `Content-Length`. */
  chunked?: boolean
  /** Whether OpenAPI describes the path. Default: true. */
  isDescribed?: boolean
}

export interface RawReply {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** The parsed body. Empty when the body is not a JSON object. */
  json: Record<string, unknown>
}

export async function send(wanted: RawRequest): Promise<RawReply> {
  const { url, method = 'GET', path, headers = {}, body, chunked, isDescribed = true } = wanted
  const { hostname, port, origin } = new URL(url)
  const framing: Record<string, string> = {}
  if (chunked) framing['Transfer-Encoding'] = 'chunked'
  else if (body !== undefined) framing['Content-Length'] = String(Buffer.byteLength(body))
  const sent = request({ hostname, port, method, path, headers: { ...framing, ...headers }, agent: false })
  // After the response, the service may close the connection before it has read the whole body.
  sent.on('error', () => undefined).end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const isPacked = response.headers['content-encoding'] === 'gzip'
  const text = await readText(isPacked ? response.pipe(createGunzip()) : response)
  const reply = { status: response.statusCode ?? 0, headers: response.headers, text, json: parsed(text) }
  if (isDescribed) checkAnswer({ origin, target: path, method, header: headerOf(response.headers), ...reply })
  return reply
}

function headerOf(headers: IncomingHttpHeaders) {
  return (name: string) => {
    const value = headers[name.toLowerCase()]
    return value === undefined ? null : String(value)
  }
}

/** Sends text as it is. Resolves with everything that the service sends until it closes the connection. */
export async function exchange(url: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
  let heard = ''
  socket.on('data', (bytes: Buffer) => void (heard += bytes.toString('latin1')))
  socket.write(text)
  await once(socket, 'close')
  return heard
}

/** Sends an incomplete POST request and resolves with the status of the answer. */
export function begin(url: string, path: string, headers: Record<string, string>, text = ''): Promise<number> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const begun = request({ hostname, port, method: 'POST', path, headers, agent: false })
    begun.on('error', reject)
    begun.on('response', (response) => {
      resolve(response.statusCode ?? 0)
      begun.off('error', reject).on('error', () => undefined)
      begun.destroy()
    })
    begun.flushHeaders()
    if (text !== '') begun.write(text)
  })
}

function parsed(text: string): RawReply['json'] {
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === 'object' && json !== null ? (json as RawReply['json']) : {}
  } catch {
    return {}
  }
}

/** The code of an error, or `answer`. */
export function codeOf({ json }: RawReply): string {
  return (json['error'] as { code: string } | undefined)?.code ?? 'answer'
}

/** The quote in the body of a 402, with the reason in its own place. */
export function quoteIn({ json }: RawReply): object {
  const { error, ...quote } = json as { error: { reason: string } }
  return { ...quote, error: error.reason }
}

/** HTML, stack traces and paths: text of a library or of the implementation. */
const INTERNAL_TEXT = /<[a-z!/]|node_modules|\bat .*:[0-9]+|Error:|dist\//i

/** Checks status, headers and body of an error response (contract 7.1). */
export function expectRefusal(reply: RawReply, code: keyof typeof REFUSALS): void {
  const { code: received } = (reply.json['error'] ?? {}) as { code?: unknown }
  expect({ status: reply.status, code: received }).to.deep.equal({ status: REFUSALS[code].status, code })
  expect(reply.headers['content-type']).to.equal('application/json; charset=utf-8')
  const { error, ...rest } = reply.json
  const members = isDataError(code) ? ['company', 'source', 'snapshot_id'] : []
  const quote = reply.status === 402 ? ['x402Version', 'resource', 'accepts', 'extensions'] : []
  expect(Object.keys(rest)).to.have.members([...members, ...quote])
  if (reply.status !== 402) expect(reply.headers).not.to.have.any.keys('payment-required', 'payment-response')
  const { charged } = REFUSALS[code]
  expect(error).to.include({ charged }).and.to.include.keys('next')
  expect(Object.hasOwn(NEXT, (error as { next: string }).next)).to.equal(true)
  expect('reason' in (error as object)).to.equal(reply.status === 402)
  const { message } = error as { message: string }
  const start = REFUSALS[code].message.slice(0, -1)
  // The operations on earlier files name these instead of the current snapshot.
  const ofFiles = /^(The file of that day has no|No recorded file has a) company with this number\./
  expect(message.startsWith(start) || (code === 'company_not_found' && ofFiles.test(message)), message).to.equal(true)
  expect(message).not.to.match(INTERNAL_TEXT)
}

/** Checks that the body has no internal text and does not repeat `secret`. */
export function expectNoLeak(reply: RawReply, secret?: string): void {
  expect(reply.text).not.to.match(INTERNAL_TEXT)
  if (secret !== undefined) expect(reply.text).not.to.include(secret)
}
