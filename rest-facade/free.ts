/** Free documents: GET or HEAD, an ETag, and a short time in public caches. */
import type { RequestHandler } from 'express'
import { methodNotAllowed, refuse } from './paid.ts'

/** Long enough to take a burst, short enough that prices, keys and data are soon seen. */
const CACHE_SECONDS = 60

interface Free {
  type: 'json' | 'html' | 'text/x-python'
  maxAgeSeconds?: number
}

/** A route that answers with a document: an object as JSON, or text as it is. `undefined` becomes a 404. */
export function freeDocument(
  { type, maxAgeSeconds = CACHE_SECONDS }: Free,
  content: () => object | string | undefined,
): RequestHandler {
  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, methodNotAllowed('GET, HEAD'))
    const document = content()
    if (document === undefined) return refuse(response, { code: 'not_found' })
    const body = typeof document === 'string' ? document : JSON.stringify(document)
    response.set('Cache-Control', `public, max-age=${maxAgeSeconds}`).type(type).send(body)
  }
}
