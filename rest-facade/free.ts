/** Free documents that change while the service runs: GET or HEAD, JSON, an ETag, and a short time in public caches. */
import type { RequestHandler } from 'express'
import { methodNotAllowed, refuse } from '../agent/http/response.ts'

/** Long enough to absorb a burst, short enough that new prices, keys and data are soon visible. */
export const CACHE_SECONDS = 60

/** Serves the current value of `content`. */
export function freeDocument(content: () => object, maxAgeSeconds = CACHE_SECONDS): RequestHandler {
  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, methodNotAllowed('GET, HEAD'))
    response.set('Cache-Control', `public, max-age=${maxAgeSeconds}`).type('json').send(JSON.stringify(content()))
  }
}
