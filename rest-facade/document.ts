/** Free documents: GET or HEAD, an ETag, and a short time in public caches. A document is compressed once. */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Response } from 'express'
import { LRUCache } from 'lru-cache'
import { acceptsGzip } from '../agent/transport/http/response.ts'
import type { WrittenDocument } from './documents/templates.ts'

/** Long enough to absorb a burst, short enough that new prices, keys and data are soon visible. */
export const CACHE_SECONDS = 60
/** A year. */
const ASSET_CACHE_SECONDS = 31_536_000
/** A shorter document fits into one network packet without compression. */
const COMPRESSED_BYTES_MIN = 1_024
/** More than there are documents. */
const FORMS_MAX = 64

/** By the text. The compressed and the plain form share the ETag. */
const forms = new LRUCache<string, { etag: string; compressed?: Buffer }>({ max: FORMS_MAX })

export function sendCurrent(response: Response, body: object, maxAgeSeconds: number): void {
  sendText(response.type('json'), JSON.stringify(body), maxAgeSeconds)
}

export function sendDocument(
  response: Response,
  { type, text, modifiedAt, contentSecurityPolicy }: WrittenDocument,
): void {
  if (modifiedAt) response.set('Last-Modified', modifiedAt.toUTCString())
  if (contentSecurityPolicy !== undefined) response.set('Content-Security-Policy', contentSecurityPolicy)
  sendText(response.set('Content-Type', `${type}; charset=utf-8`), text, CACHE_SECONDS)
}

/** A file with a hash in its name never changes. */
export function sendAsset(response: Response, type: string, text: string): void {
  sendText(response.set('Content-Type', `${type}; charset=utf-8`), text, ASSET_CACHE_SECONDS, ', immutable')
}

function sendText(response: Response, text: string, maxAgeSeconds: number, more = ''): void {
  const { etag, compressed } = forms.get(text) ?? makeForms(text)
  // A 304 has the `Vary` of its 200 (RFC 9110 section 15.4.5). Express compares the ETag and sends 304.
  response.vary('Accept-Encoding').set('Cache-Control', `public, max-age=${maxAgeSeconds}${more}`).set('ETag', etag)
  if (!compressed || response.req.fresh || !acceptsGzip(response.req)) response.send(text)
  else response.set('Content-Encoding', 'gzip').send(compressed)
}

function makeForms(text: string) {
  const etag = `W/"${createHash('sha256').update(text).digest('base64url')}"`
  const made = { etag, ...(Buffer.byteLength(text) >= COMPRESSED_BYTES_MIN && { compressed: gzipSync(text) }) }
  forms.set(text, made)
  return made
}
