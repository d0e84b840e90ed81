/**
 * POST requests to remote services, over connections that are kept alive. No redirect is followed, and cookies and the
 * proxy variables of the environment are not used. `fetch` takes several times as long (`bench perf`, row "paid
 * lookup").
 */
import { Agent, type Dispatcher } from 'undici'

/** Without the time limits of undici, because each request has a limit of its own for its whole time. */
const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 })

interface HttpPost {
  url: string
  headers: Record<string, string>
  body: string
  /** For the whole request, from the connection to the last byte of the reply. */
  timeoutMs: number
  /** Ends the request before that. */
  signal?: AbortSignal | undefined
  /** The longest reply. */
  bytesMax: number
  /** Sends the request once more, over a new connection, if one is closed before the answer begins. */
  isRepeatable?: boolean | undefined
}

interface HttpReply {
  status: number
  type: string | undefined
  /** The header `Retry-After`. */
  retryAfter: string | undefined
  bytes: Buffer
}

export class ReplyTooLarge extends Error {
  override name = 'ReplyTooLarge'
}

/**
 * Nothing is sent after the limit, and the connection is closed if the reply is not complete.
 * @throws a `TimeoutError` after the limit, the reason of the signal, ReplyTooLarge, or an error of the connection
 */
export async function post(request: HttpPost): Promise<HttpReply> {
  let hasAnswer = false
  const onAnswer = () => (hasAnswer = true)
  try {
    return await dispatch(agent, request, onAnswer)
  } catch (cause) {
    if (request.isRepeatable !== true || hasAnswer || !isClosed(cause)) throw cause
    // A server may close an idle connection at the moment at which it is used again.
    const fresh = new Agent({ headersTimeout: 0, bodyTimeout: 0, pipelining: 0 })
    return await dispatch(fresh, request, onAnswer).finally(() => fresh.close())
  }
}

/** Whether an open connection was closed. */
function isClosed(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause && cause.code
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE'
}

function dispatch(
  connections: Agent,
  { url, headers, body, timeoutMs, signal, bytesMax }: HttpPost,
  onAnswer: () => void,
): Promise<HttpReply> {
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
    const timeout = setTimeout(() => fail(new DOMException('The time limit has passed', 'TimeoutError')), timeoutMs)
    signal?.addEventListener('abort', abort)

    const reply: Omit<HttpReply, 'bytes'> = { status: 0, type: undefined, retryAfter: undefined }
    const chunks: Buffer[] = []
    let length = 0
    connections.dispatch(
      { origin, path: pathname + search, method: 'POST', headers, body },
      {
        onRequestStart(started) {
          request = started
          // The limit passed while the connection was opened.
          if (failure) started.abort(failure)
        },
        onResponseStart(_, status, { 'content-type': type, 'retry-after': retryAfter }) {
          onAnswer()
          Object.assign(reply, { status, type: single(type), retryAfter: single(retryAfter) })
        },
        onResponseData(_, chunk) {
          length += chunk.length
          if (length > bytesMax) fail(new ReplyTooLarge())
          else chunks.push(chunk)
        },
        onResponseEnd() {
          end()
          resolve({ ...reply, bytes: Buffer.concat(chunks) })
        },
        onResponseError: (_, cause) => fail(cause),
      },
    )
  })
}

function single(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined
}
