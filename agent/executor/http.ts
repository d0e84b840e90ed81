/** What both doors share of HTTP: a header's every value, what a body is and reading it, and sending a reply. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PAYMENT_HEADERS } from '../payments/terms.ts'
import type { Reply } from './reply.ts'

/** On every answer: CORS lets a browser client pay (decisions 3); the rest keeps a browser from reading more into it. */
export const COMMON_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': `${PAYMENT_HEADERS.required}, ${PAYMENT_HEADERS.response}, Retry-After`,
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'",
  'Referrer-Policy': 'no-referrer',
}

/** Every value of a header as it came; Node joins repeated ones with a comma otherwise. */
export function headerValues(request: IncomingMessage, name: string): string[] {
  const wanted = name.toLowerCase()
  if (request.headers[wanted] === undefined) return []
  // Node's own list of distinct headers is made of all of them, for each request anew.
  return request.rawHeaders.filter((_, at, all) => at % 2 === 1 && all[at - 1]?.toLowerCase() === wanted)
}

/** JSON as we read it: of that type, in UTF-8, which it may say, and announced once. */
export function isJsonType(contentTypes: readonly string[]): boolean {
  const [type = '', ...more] = contentTypes
  return more.length === 0 && /^application\/json[ \t]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i.test(type)
}

/** Compressed, for one: nothing is unpacked here, so that a small body can't become a large one. */
export function isEncoded({ headers }: IncomingMessage): boolean {
  return headers['content-encoding'] !== undefined
}

/**
 * The body, or why there is none. One that is too large is refused as soon as that is known; what is still to come of it
 * is thrown away as it comes, since a connection cut while it comes would take the answer with it.
 */
export function readBody(
  request: IncomingMessage,
  bytesMax: number,
): Promise<Uint8Array | 'body_too_large' | 'invalid_body'> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return Promise.resolve('body_too_large')
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    request.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length
      if (bytes > bytesMax) resolve('body_too_large')
      else chunks.push(chunk)
    })
    request.on('end', () => resolve(Buffer.concat(chunks)))
    for (const early of ['error', 'close']) request.on(early, () => resolve('invalid_body'))
  })
}

export function sendReply(response: ServerResponse, { status, headers, body }: Reply): void {
  // The client may have left; its answer is stored, and it can ask again.
  if (response.headersSent || response.destroyed) return
  // All at once: one that was set before makes Node keep them all in a second form.
  response.writeHead(status, { ...COMMON_HEADERS, ...headers, 'Content-Length': Buffer.byteLength(body) })
  // As text, which Node sends in one piece with the head.
  response.end(response.req.method === 'HEAD' ? undefined : body)
}
