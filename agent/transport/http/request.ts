/** Reads HTTP requests: the id, the target, all values of a header, the content type, and the body up to a limit. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { readUpTo } from '../../../base/read-body.ts'
import { parseUrl } from '../../../base/url-policy.ts'
import { refused, type Refused } from '../../operation/outcome.ts'
import { PAYMENT_HEADERS } from '../../payment/terms.ts'

/**
 * The path and query of the request target. The target may be an absolute URL, whose host is ignored, for OPTIONS also
 * `*`, and that of CONNECT has no path. Undefined for any other target (RFC 9112 section 3.2).
 */
export function readTarget({ method, url = '' }: IncomingMessage): string | undefined {
  if (url.startsWith('/')) return url
  if ((url === '*' && method === 'OPTIONS') || method === 'CONNECT') return '/'
  const parsed = parseUrl(url)
  return parsed && /^https?:$/.test(parsed.protocol) ? `${parsed.pathname}${parsed.search}` : undefined
}

/** All values of a header as sent. `request.headers` joins repeated ones with a comma. */
export function headerValues(request: IncomingMessage, name: string): string[] {
  return request.headersDistinct[name.toLowerCase()] ?? []
}

/** Whether `Content-Type` was sent once, is `application/json`, and has no charset other than UTF-8. */
export function isJsonRequest(request: IncomingMessage): boolean {
  const [type = '', ...more] = headerValues(request, 'Content-Type')
  const isUtf8 = !/;[ \t]*charset=(?!("utf-8"|utf-8)[ \t]*(;|$))/i.test(type)
  return more.length === 0 && /^application\/json[ \t]*(;|$)/i.test(type) && isUtf8
}

/** Reads the framing headers only (RFC 9112, section 6). A body need not be read to be refused. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** The values of the payment header. `X-PAYMENT` is that of x402 v1, whose payments are refused with their version. */
export function paymentHeadersOf(request: IncomingMessage): string[] {
  const sent = headerValues(request, PAYMENT_HEADERS.request)
  return sent.length > 0 ? sent : headerValues(request, 'X-PAYMENT')
}

/**
 * Reads the body, or returns the refusal. A body that is not there yet takes another turn of the client.
 * Nothing is decompressed, so a small body cannot become a large one. A body that is too large is refused at once. The
 * rest of a body of known length is read and discarded, because a client that is still sending would lose the answer if
 * the connection closed. A chunked body may have no end, so its connection closes (contract 7.3).
 */
export async function readBody(
  request: IncomingMessage,
  { bytesMax, client }: { bytesMax: number; client: { takeTurn: (work: () => void) => void } },
): Promise<{ kind: 'read'; bytes: Uint8Array } | Refused> {
  if (request.headers['content-encoding'] !== undefined) return refused({ code: 'unsupported_media_type' })
  const tooLarge = refused({ code: 'body_too_large', detail: `at most ${bytesMax / 1024} KiB` })
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return tooLarge
  // The body has arrived if the request waited for its turn. If it did not wait, another turn takes no time.
  const isWhole = request.complete
  // Not destroyed beyond the limit, because the answer uses its connection.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
  const bytes = await readUpTo(chunks, bytesMax).catch(() => 'invalid_body' as const)
  if (bytes === 'invalid_body') return refused({ code: bytes })
  if (!bytes) {
    request.resume()
    return tooLarge
  }
  const read = { kind: 'read', bytes } as const
  return isWhole ? read : new Promise((resolve) => client.takeTurn(() => resolve(read)))
}

export const REQUEST_ID_HEADER = 'X-Request-Id'

/** A UUID has 36 characters, a W3C trace context 55. A payment signature, which must not be logged, has more. */
export const REQUEST_ID_CHARACTERS_MAX = 128

/** The unreserved characters of URLs (RFC 3986 section 2.3). They cannot end a log line or a header. */
const REQUEST_ID_PATTERN = new RegExp(`^[A-Za-z0-9._~-]{1,${REQUEST_ID_CHARACTERS_MAX}}$`)

/**
 * Gives the request an id: the one that it was sent with, or a new one if it has none, several, or an invalid one
 * (contract 7.11). Replaces the header, as a proxy would, so that later code can read the id there.
 */
export function assignRequestId(request: IncomingMessage): string {
  const [sent, ...more] = headerValues(request, REQUEST_ID_HEADER)
  const isKept = sent !== undefined && more.length === 0 && REQUEST_ID_PATTERN.test(sent)
  const id = isKept ? sent : randomUUID()
  request.headers['x-request-id'] = id
  return id
}

/** The assigned id. Undefined on a server that assigns none. */
export function requestIdOf(request: IncomingMessage): string | undefined {
  return request.headers['x-request-id'] as string | undefined
}
