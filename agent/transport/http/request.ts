/** Reads HTTP requests: the target, all values of a header, the content type, and the body up to a limit. */
import type { IncomingMessage } from 'node:http'
import { isJsonType } from '../../../store/base/json-type.ts'
import { parseUrl } from '../../../store/base/url-policy.ts'

/**
 * The path and query of the request target. The target may be an absolute URL, whose host is ignored, and for OPTIONS
 * also `*`. Undefined for any other target (RFC 9112 section 3.2).
 */
export function readTarget({ method, url = '' }: IncomingMessage): string | undefined {
  if (url.startsWith('/')) return url
  if (url === '*' && method === 'OPTIONS') return '/'
  const parsed = parseUrl(url)
  return parsed && /^https?:$/.test(parsed.protocol) ? `${parsed.pathname}${parsed.search}` : undefined
}

/** All values of a header as sent. `request.headers` joins repeated ones with a comma. */
export function headerValues(request: IncomingMessage, name: string): string[] {
  return request.headersDistinct[name.toLowerCase()] ?? []
}

/** Whether `Content-Type` was sent once, is `application/json`, and has no charset other than UTF-8. */
export function isJsonRequest(request: IncomingMessage): boolean {
  const [type = '', ...more] = headerValues(request, 'Content-Type')
  const isUtf8 = /^[^;]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i.test(type)
  return more.length === 0 && isJsonType(type) && isUtf8
}

/** Reads the framing headers only (RFC 9112, section 6). A body need not be read to be refused. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Whether the body has a content encoding. Nothing is decompressed, so a small body cannot become a large one. */
export function isEncoded({ headers }: IncomingMessage): boolean {
  return headers['content-encoding'] !== undefined
}

/**
 * Reads the body in a turn of the client, or returns the code of the refusal. A body that is too large is refused at
 * once. The rest of a body of known length is read and discarded, because a client that is still sending would lose the
 * answer if the connection closed. A chunked body may have no end, so its connection closes (contract 7.3).
 */
export function readBody(
  request: IncomingMessage,
  { bytesMax, client }: { bytesMax: number; client: { takeTurn: (work: () => void) => void } },
): Promise<Uint8Array | 'body_too_large' | 'invalid_body'> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return Promise.resolve('body_too_large')
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    request.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length
      if (bytes > bytesMax) resolve('body_too_large')
      else chunks.push(chunk)
    })
    request.on('end', () => client.takeTurn(() => resolve(Buffer.concat(chunks))))
    // A whole body waits for its turn, and the request is closed meanwhile.
    for (const event of ['error', 'close'])
      request.on(event, () => {
        if (!request.complete) resolve('invalid_body')
      })
  })
}
