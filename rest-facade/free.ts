/** Free documents that change while the service runs: GET or HEAD, an ETag, and a short time in public caches. */
import type { RequestHandler } from 'express'
import { methodNotAllowed, refuse } from './paid.ts'

/** Long enough to take a burst, short enough that prices, keys and data are soon seen. */
export const CACHE_SECONDS = 60

/** A route that answers with an object of this moment, as JSON. */
export function freeDocument(content: () => object, maxAgeSeconds = CACHE_SECONDS): RequestHandler {
  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, methodNotAllowed('GET, HEAD'))
    response.set('Cache-Control', `public, max-age=${maxAgeSeconds}`).type('json').send(JSON.stringify(content()))
  }
}
