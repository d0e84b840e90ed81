/**
 * The id of a request, in its answer and its log lines. A client may choose it. The allowed characters cannot end a log
 * line or a header, so the id is not escaped.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { headerValues } from './request.ts'

export const REQUEST_ID_HEADER = 'X-Request-Id'
const HEADER_KEY = 'x-request-id'

/** A UUID has 36 characters, a W3C trace context 55. A payment signature, which must not be logged, has more. */
export const REQUEST_ID_CHARACTERS_MAX = 128

/** The unreserved characters of URLs (RFC 3986 section 2.3). */
export const REQUEST_ID_PATTERN = new RegExp(`^[A-Za-z0-9._~-]{1,${REQUEST_ID_CHARACTERS_MAX}}$`)

/**
 * Gives the request an id: the one that it was sent with, or a new one if it has none, several, or an invalid one
 * (contract 7.11). Replaces the header, as a proxy would, so that later code can read the id there.
 */
export function assignRequestId(request: IncomingMessage): string {
  const [sent, ...more] = headerValues(request, REQUEST_ID_HEADER)
  const isKept = sent !== undefined && more.length === 0 && REQUEST_ID_PATTERN.test(sent)
  const id = isKept ? sent : randomUUID()
  request.headers[HEADER_KEY] = id
  return id
}

/** The assigned id. Undefined on a server that assigns none. */
export function requestIdOf(request: IncomingMessage): string | undefined {
  return request.headers[HEADER_KEY] as string | undefined
}
