/**
 * One GET request to a source: follows allowed redirects, limits bytes and silence, and maps each failure to an
 * ImportError. It uses node:http, because in Node 20 `fetch` can end the process when a server closes a connection.
 */
import { get as getHttp, type IncomingMessage } from 'node:http'
import { get as getHttps } from 'node:https'
import { pipeline, type Readable } from 'node:stream'
import { createUnzip } from 'node:zlib'
import { mayFetch, mayFollow, parseUrl } from '../../base/url-policy.ts'
import { ImportError } from './errors.ts'

/** A portal redirects to its storage, and that to another region. A longer chain is a loop. */
const REDIRECTS_MAX = 3
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Some servers ignore that the request accepts no encoding. */
const GZIP_OR_DEFLATE = /^(?:(?:x-)?gzip|deflate)$/i

/** The process of a download limits its whole time. */
export interface SourceLimits {
  /** The longest time without a byte. */
  idleMs: number
  bytesMax: number
}

/** `body` fails with an ImportError if it is too large, too slow or cut short. Reading it closes the connection. */
export async function fetchSource(url: URL, headers: Record<string, string>, limits: SourceLimits) {
  if (!mayFetch(url)) throw sourceRefused('the source is not an https URL, or an http URL on a loopback address')
  let current = url
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const response = await sendRequest(current, headers, limits)
    const { statusCode: status = 0 } = response
    const answer = { status, headers: response.headers, body: checkedBody(response, limits) }
    if (status === 200) return answer
    response.destroy()
    if (status === 304 && ('if-none-match' in headers || 'if-modified-since' in headers)) return answer
    if (!REDIRECTS.has(status)) throw new ImportError('source_status', `the source answered with status ${status}`)
    const next = parseUrl(response.headers.location ?? '', current)
    if (!next || !mayFollow(current, next)) throw sourceRefused('the source redirects to a URL that may not be fetched')
    current = next
  }
  throw sourceRefused(`the source redirects more than ${REDIRECTS_MAX} times`)
}

function sendRequest(url: URL, headers: Record<string, string>, { idleMs }: SourceLimits): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let response: IncomingMessage | undefined
    const get = url.protocol === 'https:' ? getHttps : getHttp
    const options = {
      agent: false,
      timeout: idleMs,
      headers: { 'user-agent': 'irish-company-agent', 'accept-encoding': 'identity', ...headers },
    }
    const request = get(url, options, (received) => resolve((response = received)))
    request.on('timeout', () => {
      const silence = new ImportError('source_timeout', `the source sent nothing for ${idleMs} ms`)
      const open = response ?? request
      open.destroy(silence)
    })
    request.on('error', (cause) => {
      // Node counts a body without a length as complete when its connection is reset.
      if (response?.complete === false) response.destroy(cause)
      reject(asImportError(cause, 'source_unreachable', unreachable(cause)))
    })
  })
}

/** The system's code, such as `ECONNREFUSED`. The system's message is left out because it contains addresses. */
function unreachable(cause: Error): string {
  const code = 'code' in cause ? String(cause.code) : ''
  return `the source cannot be reached (${/^[A-Z_]{1,40}$/.test(code) ? code : 'unknown reason'})`
}

async function* checkedBody(
  response: IncomingMessage,
  { bytesMax }: SourceLimits,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    const tooLarge = new ImportError('archive_too_large', `the source sends more than ${bytesMax} bytes`)
    if (Number(response.headers['content-length'] ?? 0) > bytesMax) throw tooLarge
    let length = 0
    for await (const chunk of decoded(response) as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > bytesMax) throw tooLarge
      yield chunk
    }
  } catch (cause) {
    throw asImportError(cause, 'source_cut', 'the connection broke before the end of the body')
  } finally {
    response.destroy()
  }
}

function decoded(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding'] ?? 'identity'
  if (GZIP_OR_DEFLATE.test(encoding)) return pipeline(response, createUnzip(), () => undefined)
  if (/^identity$/i.test(encoding)) return response
  throw new ImportError('source_wrong_type', 'the source sends an encoding other than gzip')
}

function asImportError(cause: unknown, code: ImportError['code'], message: string): ImportError {
  return cause instanceof ImportError ? cause : new ImportError(code, message, cause)
}

function sourceRefused(message: string): ImportError {
  return new ImportError('source_refused', message)
}
