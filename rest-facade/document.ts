/** Free documents: GET or HEAD, an ETag, and a short time in public caches. Static ones are compressed once. */
import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import { methodNotAllowed, refuse } from '../agent/transport/http/response.ts'
import type { WrittenDocument } from './documents/render-documents.ts'

/** Long enough to absorb a burst, short enough that new prices, keys and data are soon visible. */
export const CACHE_SECONDS = 60
/** A shorter document fits into one network packet without compression. */
const COMPRESSED_BYTES_MIN = 1_400

interface EncodedForm {
  encoding: 'br' | 'gzip' | 'identity'
  bytes: Buffer
  etag: string
}

/** Refuses other methods than GET and HEAD. */
export const requireRead: RequestHandler = (request, response, next) =>
  request.method === 'GET' || request.method === 'HEAD' ? next() : refuse(response, methodNotAllowed('GET, HEAD'))

/** Sends a body that is computed for each request. */
export function sendCurrent(response: Response, body: object, maxAgeSeconds: number): void {
  response.set('Cache-Control', `public, max-age=${maxAgeSeconds}`).type('json').send(JSON.stringify(body))
}

/** Serves the page, or its markdown version to clients that prefer `text/markdown`. */
export function staticDocument(
  page: WrittenDocument,
  { links, markdown }: { links: string; markdown: WrittenDocument | undefined },
): RequestHandler {
  const shared = {
    Link: links,
    Vary: markdown ? 'Accept, Accept-Encoding' : 'Accept-Encoding',
    'Cache-Control': `public, max-age=${CACHE_SECONDS}`,
  }
  const served = { page, forms: encodeForms(page) }
  const servedMarkdown = markdown && { page: markdown, forms: encodeForms(markdown) }
  return (request, response) => {
    response.set(shared)
    send(request, response, servedMarkdown && prefersMarkdown(request) ? servedMarkdown : served)
  }
}

function send(
  request: Request,
  response: Response,
  { page, forms }: { page: WrittenDocument; forms: readonly EncodedForm[] },
): void {
  const accepted = request.acceptsEncodings(forms.map(({ encoding }) => encoding))
  const form = forms.find(({ encoding }) => encoding === accepted) ?? forms.at(-1)
  if (!form) throw new Error('A document has no encoded form')
  const { type, modifiedAt, contentSecurityPolicy } = page
  response.set({ 'Content-Type': `${type}; charset=utf-8`, ETag: form.etag })
  if (modifiedAt) response.set('Last-Modified', modifiedAt.toUTCString())
  if (contentSecurityPolicy !== undefined) response.set('Content-Security-Policy', contentSecurityPolicy)
  // Express compares the validators above with the conditions of the request, and sends 304.
  if (form.encoding !== 'identity' && !request.fresh) response.set('Content-Encoding', form.encoding)
  response.send(form.bytes)
}

function prefersMarkdown(request: Request): boolean {
  return request.accepts(['text/html', 'text/markdown']) === 'text/markdown'
}

function encodeForms(page: WrittenDocument): readonly EncodedForm[] {
  const text = Buffer.from(page.text, 'utf8')
  const tag = createHash('sha256').update(text).digest('base64url').slice(0, 22)
  const identity = { encoding: 'identity', bytes: text, etag: `"${tag}"` } as const
  if (text.length < COMPRESSED_BYTES_MIN) return [identity]
  const brotli = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: text.length } })
  return [
    { encoding: 'br', bytes: brotli, etag: `"${tag}-br"` },
    { encoding: 'gzip', bytes: gzipSync(text, { level: 9 }), etag: `"${tag}-gz"` },
    identity,
  ]
}
