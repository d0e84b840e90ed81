/** Free documents: GET or HEAD, an ETag, and a short time in public caches. */
import type { RequestHandler, Response } from 'express'
import { methodNotAllowed, refuse } from '../agent/transport/http/response.ts'
import { jsonDocument } from './documents/render-documents.ts'
import type { WrittenDocument } from './documents/templates.ts'

/** Long enough to absorb a burst, short enough that new prices, keys and data are soon visible. */
export const CACHE_SECONDS = 60

/** Refuses other methods than GET and HEAD. */
export const requireRead: RequestHandler = (request, response, next) =>
  request.method === 'GET' || request.method === 'HEAD' ? next() : refuse(response, methodNotAllowed('GET, HEAD'))

/** Sends a body that is computed for each request. */
export function sendCurrent(response: Response, body: object, maxAgeSeconds: number): void {
  sendDocument(response, jsonDocument(body), maxAgeSeconds)
}

export function sendDocument(
  response: Response,
  { type, text, modifiedAt, contentSecurityPolicy }: WrittenDocument,
  maxAgeSeconds = CACHE_SECONDS,
): void {
  // A 304 has the `Vary` of its 200 (RFC 9110 section 15.4.5), and is not compressed.
  response.vary('Accept-Encoding').set('Cache-Control', `public, max-age=${maxAgeSeconds}`)
  if (modifiedAt) response.set('Last-Modified', modifiedAt.toUTCString())
  if (contentSecurityPolicy !== undefined) response.set('Content-Security-Policy', contentSecurityPolicy)
  // Express adds the ETag, compares it with the conditions of the request, and sends 304.
  response.set('Content-Type', `${type}; charset=utf-8`).send(text)
}
