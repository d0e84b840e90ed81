/**
 * Sends one JSON POST to an untrusted server and reads a JSON reply. Connections are kept alive, and no redirect is
 * followed. Replies that are too large and JSON with duplicate names are errors. Errors contain neither the URL, which
 * may hold a key, nor text of the reply.
 */
import { Agent, request } from 'undici'
import { isJsonType } from '../../../store/base/json-type.ts'
import { parseStrictJson } from '../../../store/base/strict-json.ts'
import { isTimeout } from './time-limits.ts'

/** The server sent no acceptable reply. `code` is for the log. */
export class ReplyError extends Error {
  override name = 'ReplyError'
  readonly code: string

  constructor(code: string, options?: ErrorOptions) {
    super(`No acceptable reply: ${code}`, options)
    this.code = code
  }
}

/** The server limits the rate of requests. */
export class RateLimited extends ReplyError {
  override name = 'RateLimited'
  /** Its `Retry-After`. 0 without one, and for a date. */
  readonly waitMs: number

  constructor(retryAfter: unknown) {
    super('STATUS_429')
    this.waitMs = /^[0-9]{1,6}$/.test(String(retryAfter)) ? Number(retryAfter) * 1000 : 0
  }
}

/** Whether a remote service could not be asked, as opposed to an answer that does not count. */
export function isTransportFailure(cause: unknown): boolean {
  if (cause instanceof ReplyError) return cause.code === 'UNREACHABLE' || /^STATUS_(429|5\d\d)$/.test(cause.code)
  return isTimeout(cause)
}

const HEADERS = {
  'Content-Type': 'application/json',
  Accept: 'application/json',
  // Uncompressed, so that the limit applies to the bytes received.
  'Accept-Encoding': 'identity',
  // Some gateways refuse requests without it.
  'User-Agent': 'irish-company-agent',
}

/** Without the time limits of undici, because each request has a limit of its own for its whole time. */
const NO_LIMITS = { headersTimeout: 0, bodyTimeout: 0 }
/** `fetch` takes several times as long (`bench perf`, row "paid lookup"). */
const agent = new Agent(NO_LIMITS)

interface JsonPost {
  url: string
  headers?: Record<string, string>
  body: unknown
  /** For the whole request, from the connection to the last byte of the reply. Then the connection is closed. */
  timeoutMs: number
  /** Ends the request before that. */
  signal?: AbortSignal
  /** The longest reply. */
  bytesMax: number
  /** Require a JSON content type. Chain nodes often send another. */
  isTypeChecked: boolean
  /** Sends the request once more, over a new connection, if one is closed before the answer begins. */
  isRepeatable?: boolean
}

/** @throws a `TimeoutError` after the limit, or ReplyError */
export async function postJson(post: JsonPost) {
  const { status, headers, bytes } = await send(post).catch((cause: unknown) => {
    throw post.signal?.aborted === true ? cause : describeFailure(cause)
  })
  if (status >= 300 && status < 400) throw unreachable('REDIRECT')
  if (status === 429) throw new RateLimited(headers['retry-after'])
  if (post.isTypeChecked && !isJsonType(String(headers['content-type']))) throw new ReplyError('NOT_JSON')
  const parsed = parseStrictJson(bytes)
  if (parsed.kind !== 'valid') throw new ReplyError(parsed.kind === 'invalid' ? 'NOT_JSON' : 'DUPLICATE_NAME')
  return { status, json: parsed.value }
}

async function send({ url, headers, body, timeoutMs, signal, bytesMax, isRepeatable = false }: JsonPost) {
  const limit = AbortSignal.timeout(timeoutMs)
  const options = {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body: JSON.stringify(body),
    signal: signal ? AbortSignal.any([signal, limit]) : limit,
  } as const
  const reply = await request(url, { ...options, dispatcher: agent }).catch((cause: unknown) => {
    if (!isRepeatable || !isClosed(cause)) throw cause
    // A server may close an idle connection at the moment at which it is used again.
    return request(url, { ...options, dispatcher: new Agent({ ...NO_LIMITS, pipelining: 0 }) })
  })
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of reply.body as AsyncIterable<Buffer>) {
    length += chunk.length
    // Leaving the loop closes the connection.
    if (length > bytesMax) throw new ReplyError('TOO_LARGE')
    chunks.push(chunk)
  }
  return { status: reply.statusCode, headers: reply.headers, bytes: Buffer.concat(chunks) }
}

/** Whether an open connection was closed. */
function isClosed(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause && cause.code
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE'
}

/** Keeps the error code of a failed connection and drops its message. */
function describeFailure(cause: unknown): unknown {
  if (isTimeout(cause) || cause instanceof ReplyError) return cause
  return unreachable(cause instanceof Error && 'code' in cause ? cause.code : undefined)
}

function unreachable(code: unknown): ReplyError {
  return new ReplyError('UNREACHABLE', { cause: Object.assign(new Error('Connection failed'), { code }) })
}
