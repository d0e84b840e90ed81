/** Free documents: GET or HEAD, an ETag, and a short time in public caches. Static ones are compressed once. */
import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import { methodNotAllowed, refuse } from '../agent/http/response.ts'
import type { WrittenDocument } from './documents/render-documents.ts'

/** Long enough to absorb a burst, short enough that new prices, keys and data are soon visible. */
export const CACHE_SECONDS = 60
/** A shorter document fits into one network packet without compression. */
const COMPRESSED_BYTES_MIN = 1_400

interface EncodedForm {
  encoding: 'br' | 'gzip' | 'identity'
  bytes: Buffer
  etag: string
  lastModified: string | undefined
  headers: { notModified: Record<string, string>; ok: Record<string, string> }
}

/** Serves the current value of `content` as JSON. */
export function freeDocument(content: () => object, maxAgeSeconds = CACHE_SECONDS): RequestHandler {
  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, methodNotAllowed('GET, HEAD'))
    response.set('Cache-Control', `public, max-age=${maxAgeSeconds}`).type('json').send(JSON.stringify(content()))
  }
}

/** Serves the page, or its markdown version to clients that prefer `text/markdown`. */
export function staticDocument(
  page: WrittenDocument,
  { links = '', markdown }: { links?: string; markdown?: WrittenDocument | undefined } = {},
): RequestHandler {
  const shared = {
    ...(links !== '' && { Link: links }),
    Vary: markdown ? 'Accept, Accept-Encoding' : 'Accept-Encoding',
    'Cache-Control': `public, max-age=${CACHE_SECONDS}`,
  }
  const html = encodeForms(page, shared)
  const markdownForms = markdown && encodeForms(markdown, shared)
  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, methodNotAllowed('GET, HEAD'))
    send(request, response, markdownForms && prefersMarkdown(request) ? markdownForms : html)
  }
}

function send(request: Request, response: Response, forms: readonly EncodedForm[]): void {
  const encoding = request.acceptsEncodings(forms.map((form) => form.encoding))
  const form = forms.find((candidate) => candidate.encoding === encoding) ?? forms.at(-1)
  if (!form) throw new Error('A document has no encoded form')
  // `request.fresh` compares these with the request's If-None-Match and If-Modified-Since.
  response.setHeader('ETag', form.etag)
  if (form.lastModified !== undefined) response.setHeader('Last-Modified', form.lastModified)
  if (request.fresh) {
    response.writeHead(304, form.headers.notModified).end()
    return
  }
  response.writeHead(200, form.headers.ok).end(request.method === 'HEAD' ? undefined : form.bytes)
}

function prefersMarkdown(request: Request): boolean {
  return request.accepts(['text/html', 'text/markdown']) === 'text/markdown'
}

function encodeForms(page: WrittenDocument, shared: Record<string, string>): readonly EncodedForm[] {
  const text = Buffer.from(page.text, 'utf8')
  const tag = createHash('sha256').update(text).digest('base64url').slice(0, 22)
  const form = (encoding: EncodedForm['encoding'], bytes: Buffer, etag: string): EncodedForm => {
    const csp = page.contentSecurityPolicy
    const notModified = { ...shared, ...(csp !== undefined && { 'Content-Security-Policy': csp }) }
    const ok = {
      ...notModified,
      'Content-Type': `${page.type}; charset=utf-8`,
      ...(encoding !== 'identity' && { 'Content-Encoding': encoding }),
      'Content-Length': String(bytes.length),
    }
    return { encoding, bytes, etag, lastModified: page.modifiedAt?.toUTCString(), headers: { notModified, ok } }
  }
  const identity = form('identity', text, `"${tag}"`)
  if (text.length < COMPRESSED_BYTES_MIN) return [identity]
  const br = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: text.length } })
  return [form('br', br, `"${tag}-br"`), form('gzip', gzipSync(text, { level: 9 }), `"${tag}-gz"`), identity]
}
