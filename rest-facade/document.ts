/** A document that stays as it is while the service runs: compressed once, at start, with an ETag for each form of it. */
import { createHash } from 'node:crypto'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Request, RequestHandler, Response } from 'express'
import type { Page } from './documents/pages.ts'
import { CACHE_SECONDS } from './free.ts'
import { methodNotAllowed, refuse } from './paid.ts'

/** Below this the headers weigh more than what is saved: about one network packet. */
const COMPRESSED_BYTES_MIN = 1_400

interface Form {
  encoding: 'br' | 'gzip' | 'identity'
  bytes: Buffer
  etag: string
}

interface Prepared {
  page: Page
  forms: readonly Form[]
}

/** Answers with the page; or, where it has one, with its markdown twin for clients that would rather read that. */
export function staticDocument(
  page: Page,
  { links = '', markdown }: { links?: string; markdown?: Page | undefined } = {},
): RequestHandler {
  const html = prepare(page)
  const twin = markdown && prepare(markdown)
  const vary = twin ? 'Accept, Accept-Encoding' : 'Accept-Encoding'
  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, methodNotAllowed('GET, HEAD'))
    if (links !== '') response.set('Link', links)
    response.set('Vary', vary)
    send(request, response, twin && prefersMarkdown(request) ? twin : html)
  }
}

function send(request: Request, response: Response, { page, forms }: Prepared): void {
  const encoding = request.acceptsEncodings(forms.map((form) => form.encoding))
  const form = forms.find((each) => each.encoding === encoding) ?? forms.at(-1)
  if (!form) throw new Error('A document has no form')
  response.set({
    'Content-Type': `${page.type}; charset=utf-8`,
    'Cache-Control': `public, max-age=${CACHE_SECONDS}`,
    ETag: form.etag,
  })
  if (page.contentSecurityPolicy !== undefined) response.set('Content-Security-Policy', page.contentSecurityPolicy)
  if (request.fresh) {
    response.removeHeader('Content-Type')
    response.status(304).end()
    return
  }
  if (form.encoding !== 'identity') response.set('Content-Encoding', form.encoding)
  response.set('Content-Length', String(form.bytes.length))
  response.end(request.method === 'HEAD' ? undefined : form.bytes)
}

function prefersMarkdown(request: Request): boolean {
  return request.accepts(['text/html', 'text/markdown']) === 'text/markdown'
}

function prepare(page: Page): Prepared {
  const bytes = Buffer.from(page.text, 'utf8')
  const tag = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  const identity: Form = { encoding: 'identity', bytes, etag: `"${tag}"` }
  if (bytes.length < COMPRESSED_BYTES_MIN) return { page, forms: [identity] }
  const br = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } })
  return {
    page,
    forms: [
      { encoding: 'br', bytes: br, etag: `"${tag}-br"` },
      { encoding: 'gzip', bytes: gzipSync(bytes, { level: 9 }), etag: `"${tag}-gz"` },
      identity,
    ],
  }
}
