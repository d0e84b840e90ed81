/**
 * One GET request to a source: follows allowed redirects, limits bytes and time, and maps each failure to an
 * ImportError.
 */
import { mayFetch, mayFollow, parseUrl } from '../base/url-policy.ts'
import { ImportError } from './errors.ts'

/** A portal redirects to its storage, and that to another region. A longer chain is a loop. */
const REDIRECTS_MAX = 3
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

interface Limits {
  /** From the first request to the last byte, redirects included. */
  totalMs: number
  /** The longest time without a byte. */
  idleMs: number
  bytesMax: number
}

interface SourceRequest {
  url: URL
  headers: Record<string, string>
  limits: Limits
  /** Aborts the request, for example when the service stops. */
  signal: AbortSignal | undefined
}

/**
 * Sends the request and passes the response to `use`, with a body that fails with an ImportError if it is too large,
 * too slow or cut short. Closes the connection when `use` has settled.
 */
export async function fetchSource<T>(
  request: SourceRequest,
  use: (response: Response, body: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<T> {
  using timeouts = startTimeouts(request)
  const response = await followRedirects(request, timeouts)
  return await use(response, checkedBody(response, request.limits, timeouts))
}

function startTimeouts({ limits, signal }: SourceRequest) {
  const controller = new AbortController()
  const timeOut = (message: string) => controller.abort(new ImportError('source_timeout', message))
  const stop = () => controller.abort(new ImportError('stopped', 'the retrieval was stopped'))
  const total = setTimeout(() => timeOut(`the source took longer than ${limits.totalMs} ms`), limits.totalMs)
  const idle = setTimeout(() => timeOut(`the source sent nothing for ${limits.idleMs} ms`), limits.idleMs)
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop)
  return {
    signal: controller.signal,
    /** Restarts the idle timeout. */
    restartIdle: () => void idle.refresh(),
    [Symbol.dispose]() {
      clearTimeout(total)
      clearTimeout(idle)
      signal?.removeEventListener('abort', stop)
      // Closes the connection if the body was not read to its end.
      controller.abort()
    },
  }
}

async function followRedirects(
  { url, headers }: SourceRequest,
  timeouts: ReturnType<typeof startTimeouts>,
): Promise<Response> {
  if (!mayFetch(url)) throw sourceRefused('the source is not an https URL, or an http URL on a loopback address')
  let current = url
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const response = await sendRequest(current, headers, timeouts)
    if (!REDIRECTS.has(response.status)) return checkStatus(response, headers)
    await response.body?.cancel()
    const next = parseUrl(response.headers.get('location') ?? '', current)
    if (!next || !mayFollow(current, next)) throw sourceRefused('the source redirects to a URL that may not be fetched')
    current = next
  }
  throw sourceRefused(`the source redirects more than ${REDIRECTS_MAX} times`)
}

async function sendRequest(
  url: URL,
  headers: Record<string, string>,
  timeouts: ReturnType<typeof startTimeouts>,
): Promise<Response> {
  try {
    const response = await fetch(url, {
      headers: { 'accept-encoding': 'identity', ...headers },
      redirect: 'manual',
      signal: timeouts.signal,
    })
    timeouts.restartIdle()
    return response
  } catch (cause) {
    throw timeouts.signal.aborted
      ? timeouts.signal.reason
      : new ImportError('source_unreachable', `the source cannot be reached (${systemCode(cause)})`, cause)
  }
}

/** The system's code, such as `ECONNREFUSED`. The system's message is left out because it contains addresses. */
function systemCode(cause: unknown): string {
  const inner = cause instanceof Error ? cause.cause : undefined
  const code = inner instanceof Error && 'code' in inner ? String(inner.code) : ''
  return /^[A-Z_]{1,40}$/.test(code) ? code : 'unknown reason'
}

function checkStatus(response: Response, headers: Record<string, string>): Response {
  const isConditional = 'if-none-match' in headers || 'if-modified-since' in headers
  if (response.status === 200 || (response.status === 304 && isConditional)) return response
  throw new ImportError('source_status', `the source answered with status ${response.status}`)
}

async function* checkedBody(
  response: Response,
  { bytesMax }: Limits,
  timeouts: ReturnType<typeof startTimeouts>,
): AsyncGenerator<Uint8Array, void, void> {
  if (Number(response.headers.get('content-length') ?? 0) > bytesMax) throw archiveTooLarge(bytesMax)
  let length = 0
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      timeouts.restartIdle()
      length += chunk.length
      if (length > bytesMax) throw archiveTooLarge(bytesMax)
      yield chunk
    }
  } catch (cause) {
    if (timeouts.signal.aborted) throw timeouts.signal.reason
    throw cause instanceof ImportError
      ? cause
      : new ImportError('source_cut', 'the connection broke before the end of the body', cause)
  }
}

function archiveTooLarge(bytesMax: number): ImportError {
  return new ImportError('archive_too_large', `the source sends more than ${bytesMax} bytes`)
}

function sourceRefused(message: string): ImportError {
  return new ImportError('source_refused', message)
}
