/** Free documents: GET or HEAD, an ETag, and a short time in public caches. */
import type { RequestHandler } from 'express'
import { methodNotAllowed, refuse } from './paid.ts'

/** Long enough to take a burst, short enough that prices, keys and data are soon seen. */
const CACHE_SECONDS = 60

/** A route that answers with JSON; `undefined` becomes a 404. */
export function freeJson(content: () => unknown, maxAgeSeconds = CACHE_SECONDS): RequestHandler {
  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, methodNotAllowed('GET, HEAD'))
    const body = content()
    if (body === undefined) return refuse(response, { code: 'not_found' })
    response.set('Cache-Control', `public, max-age=${maxAgeSeconds}`).json(body)
  }
}
