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
  /** Of a 304, and those of a 200. */
  headers: { unchanged: Record<string, string>; whole: Record<string, string> }
}

/** Answers with the page; or, where it has one, with its markdown twin for clients that would rather read that. */
export function staticDocument(
  page: Page,
  { links = '', markdown }: { links?: string; markdown?: Page | undefined } = {},
): RequestHandler {
  const shared = {
    ...(links !== '' && { Link: links }),
    Vary: markdown ? 'Accept, Accept-Encoding' : 'Accept-Encoding',
    'Cache-Control': `public, max-age=${CACHE_SECONDS}`,
  }
  const html = formsOf(page, shared)
  const twin = markdown && formsOf(markdown, shared)
  return (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, methodNotAllowed('GET, HEAD'))
    send(request, response, twin && prefersMarkdown(request) ? twin : html)
  }
}

function send(request: Request, response: Response, forms: readonly Form[]): void {
  const encoding = request.acceptsEncodings(forms.map((form) => form.encoding))
  const form = forms.find((each) => each.encoding === encoding) ?? forms.at(-1)
  if (!form) throw new Error('A document has no form')
  // Express holds the request's own tags against it.
  response.setHeader('ETag', form.etag)
  if (request.fresh) {
    response.writeHead(304, form.headers.unchanged).end()
    return
  }
  response.writeHead(200, form.headers.whole).end(request.method === 'HEAD' ? undefined : form.bytes)
}

function prefersMarkdown(request: Request): boolean {
  return request.accepts(['text/html', 'text/markdown']) === 'text/markdown'
}

function formsOf(page: Page, shared: Record<string, string>): readonly Form[] {
  const text = Buffer.from(page.text, 'utf8')
  const tag = createHash('sha256').update(text).digest('base64url').slice(0, 22)
  const form = (encoding: Form['encoding'], bytes: Buffer, etag: string): Form => {
    const csp = page.contentSecurityPolicy
    const unchanged = { ...shared, ...(csp !== undefined && { 'Content-Security-Policy': csp }) }
    const whole = {
      ...unchanged,
      'Content-Type': `${page.type}; charset=utf-8`,
      ...(encoding !== 'identity' && { 'Content-Encoding': encoding }),
      'Content-Length': String(bytes.length),
    }
    return { encoding, bytes, etag, headers: { unchanged, whole } }
  }
  const identity = form('identity', text, `"${tag}"`)
  if (text.length < COMPRESSED_BYTES_MIN) return [identity]
  const br = brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: text.length } })
  return [form('br', br, `"${tag}-br"`), form('gzip', gzipSync(text, { level: 9 }), `"${tag}-gz"`), identity]
}
