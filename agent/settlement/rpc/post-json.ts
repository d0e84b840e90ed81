/**
 * Sends one JSON POST to an untrusted server and reads a JSON reply, over connections that are kept alive. It follows
 * no redirect and ignores the proxy variables of the environment. Errors contain neither the URL, which may hold a key,
 * nor text of the reply. `fetch` takes several times as long (`bench perf`, row "paid lookup").
 */
import { Agent, type Dispatcher } from 'undici'
import { isTimeout, timeoutError } from '../../../base/deadline.ts'
import { parseStrictJson } from '../../../base/strict-json.ts'

/** Disables the time limits of undici, because each request has one limit for its whole duration. */
const NO_LIMITS = { headersTimeout: 0, bodyTimeout: 0 }
const agent = new Agent(NO_LIMITS)

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
    this.waitMs = typeof retryAfter === 'string' && /^[0-9]{1,6}$/.test(retryAfter) ? Number(retryAfter) * 1000 : 0
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

interface JsonPost {
  url: string
  headers?: Record<string, string>
  body: unknown
  /** For the whole request, from the connection to the last byte of the reply. */
  timeoutMs: number
  /** Aborts the request before the time limit. */
  signal?: AbortSignal | undefined
  /** The longest reply. */
  bytesMax: number
  /** Whether the request is sent once more if the server closes the connection without a reply. */
  isRepeatable?: boolean
}

/**
 * Nothing is sent after the limit, and the connection is closed if the reply is not complete.
 * @throws a `TimeoutError` after the limit, the reason of the signal, or a ReplyError
 */
export async function postJson(request: JsonPost): Promise<{ status: number; json: unknown }> {
  const { status, retryAfter, chunks } = await exchange(request)
  if (status >= 300 && status < 400) throw unreachable('REDIRECT')
  if (status === 429) throw new RateLimited(retryAfter)
  const parsed = parseStrictJson(Buffer.concat(chunks))
  if (parsed.kind !== 'valid') throw new ReplyError(parsed.kind === 'invalid' ? 'NOT_JSON' : 'DUPLICATE_NAME')
  return { status, json: parsed.value }
}

/** The part of the reply that has been received. */
interface Reply {
  /** 0 before the headers. */
  status: number
  retryAfter: unknown
  chunks: Buffer[]
}

async function exchange(request: JsonPost): Promise<Reply> {
  const reply: Reply = { status: 0, retryAfter: undefined, chunks: [] }
  try {
    await dispatch(agent, request, reply)
  } catch (cause) {
    if (request.isRepeatable !== true || reply.status !== 0 || !isClosed(cause)) throw cause
    // A server may close an idle connection at the moment at which it is used again.
    const fresh = new Agent({ ...NO_LIMITS, pipelining: 0 })
    await dispatch(fresh, request, reply).finally(() => fresh.close())
  }
  return reply
}

/** Whether an open connection was closed. */
function isClosed(cause: unknown): boolean {
  return cause instanceof ReplyError && /^(UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(codeOf(cause.cause))
}

function dispatch(
  connections: Agent,
  { url, headers, body, timeoutMs, signal, bytesMax }: JsonPost,
  reply: Reply,
): Promise<void> {
  const { origin, pathname, search } = new URL(url)
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    let request: Dispatcher.DispatchController | undefined
    let failure: Error | undefined
    const end = () => {
      clearTimeout(timeout)
      signal?.removeEventListener('abort', abort)
    }
    const fail = (cause: Error) => {
      if (failure) return
      failure = cause
      end()
      reject(cause)
      request?.abort(cause)
    }
    const abort = () => fail(signal?.reason as Error)
    const timeout = setTimeout(() => fail(timeoutError()), timeoutMs)
    signal?.addEventListener('abort', abort)

    let length = 0
    connections.dispatch(
      {
        origin,
        path: pathname + search,
        method: 'POST',
        headers: { ...HEADERS, ...headers },
        body: JSON.stringify(body),
      },
      {
        onRequestStart(started) {
          request = started
          // The limit passed while the connection was opened.
          if (failure) started.abort(failure)
        },
        onResponseStart(_, status, { 'retry-after': retryAfter }) {
          Object.assign(reply, { status, retryAfter })
        },
        onResponseData(_, chunk) {
          length += chunk.length
          if (length > bytesMax) fail(new ReplyError('TOO_LARGE'))
          else reply.chunks.push(chunk)
        },
        onResponseEnd() {
          end()
          resolve()
        },
        onResponseError: (_, cause) => fail(unreachable(codeOf(cause))),
      },
    )
  })
}

/** Keeps the error code of a failed connection and drops its message. */
function unreachable(code: string): ReplyError {
  return new ReplyError('UNREACHABLE', { cause: Object.assign(new Error('Connection failed'), { code }) })
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : ''
}
