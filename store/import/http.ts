/** One GET of a dataset's source: redirects by hand, a limit on bytes and on time, and a fault for each way it fails. */
import { ImportError } from './errors.ts'
import { mayFetch, mayFollow, parseUrl } from './location.ts'

/** A portal's download URL may lead to its storage, and that to another region's; a longer chain is a loop. */
const REDIRECTS_MAX = 3
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

export interface HttpLimits {
  /** From the first request to the last byte, redirects included. */
  totalMs: number
  /** Without a single byte. */
  idleMs: number
  bytesMax: number
}

export interface GetRequest {
  url: URL
  headers: Record<string, string>
  limits: HttpLimits
  /** Gives the request up, as a service does that stops. */
  signal: AbortSignal | undefined
}

export interface Reply {
  status: 200 | 304
  header: (name: string) => string | undefined
  /** The body, which ends in an ImportError when it is too long, too slow or cut short. */
  body: AsyncIterable<Uint8Array>
}

/** Hands the reply to `use`; once that has ended, however it ended, nothing of the request goes on. */
export async function get<T>(request: GetRequest, use: (reply: Reply) => Promise<T>): Promise<T> {
  const watch = watchTime(request)
  try {
    const response = await follow(request, watch)
    return await use({
      status: response.status === 304 ? 304 : 200,
      header: (name) => response.headers.get(name) ?? undefined,
      body: checkedBody(response, request.limits, watch),
    })
  } finally {
    watch.end()
  }
}

interface Watch {
  signal: AbortSignal
  /** Something has come: the idle time begins anew. */
  alive(): void
  end(): void
}

function watchTime({ limits, signal }: GetRequest): Watch {
  const controller = new AbortController()
  const giveUp = (rule: string) => controller.abort(new ImportError('source_timeout', rule))
  const stop = () => controller.abort(new ImportError('stopped', 'the retrieval was stopped'))
  const total = setTimeout(() => giveUp(`the source took over ${limits.totalMs} ms in all`), limits.totalMs)
  const idle = setTimeout(() => giveUp(`the source sent nothing for ${limits.idleMs} ms`), limits.idleMs)
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop)
  return {
    signal: controller.signal,
    alive: () => void idle.refresh(),
    end() {
      clearTimeout(total)
      clearTimeout(idle)
      signal?.removeEventListener('abort', stop)
      // Closes the connection under a body that nobody has read to its end.
      controller.abort()
    },
  }
}

async function follow({ url, headers }: GetRequest, watch: Watch): Promise<Response> {
  if (!mayFetch(url)) throw refused('the source is not an https URL, or an http URL on a loopback address')
  let place = url
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const response = await ask(place, headers, watch)
    if (!REDIRECTS.has(response.status)) return checkStatus(response, headers)
    await response.body?.cancel()
    const next = parseUrl(response.headers.get('location') ?? '', place)
    if (!next || !mayFollow(place, next)) throw refused('the source redirects to where it may not')
    place = next
  }
  throw refused(`the source redirects over ${REDIRECTS_MAX} times`)
}

async function ask(url: URL, headers: Record<string, string>, watch: Watch): Promise<Response> {
  try {
    const response = await fetch(url, {
      headers: { 'accept-encoding': 'identity', ...headers },
      redirect: 'manual',
      signal: watch.signal,
    })
    watch.alive()
    return response
  } catch (cause) {
    throw watch.signal.aborted
      ? watch.signal.reason
      : new ImportError('source_unreachable', `the source cannot be reached (${codeOf(cause)})`, cause)
  }
}

/** Of what the platform says, the code alone, such as `ECONNREFUSED`: its sentence names addresses. */
function codeOf(cause: unknown): string {
  const inner = cause instanceof Error ? cause.cause : undefined
  const code = inner instanceof Error && 'code' in inner ? String(inner.code) : ''
  return /^[A-Z_]{1,40}$/.test(code) ? code : 'no reason given'
}

function checkStatus(response: Response, headers: Record<string, string>): Response {
  const isConditional = 'if-none-match' in headers || 'if-modified-since' in headers
  if (response.status === 200 || (response.status === 304 && isConditional)) return response
  throw new ImportError('source_status', `the source answers with status ${response.status}`)
}

async function* checkedBody(
  response: Response,
  { bytesMax }: HttpLimits,
  watch: Watch,
): AsyncGenerator<Uint8Array, void, void> {
  if (Number(response.headers.get('content-length') ?? 0) > bytesMax) throw tooLarge(bytesMax)
  let length = 0
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      watch.alive()
      length += chunk.length
      if (length > bytesMax) throw tooLarge(bytesMax)
      yield chunk
    }
  } catch (cause) {
    if (watch.signal.aborted) throw watch.signal.reason
    throw cause instanceof ImportError ? cause : new ImportError('source_cut', 'the source broke off', cause)
  }
}

function tooLarge(bytesMax: number): ImportError {
  return new ImportError('archive_too_large', `the source sends over ${bytesMax} bytes`)
}

function refused(rule: string): ImportError {
  return new ImportError('source_refused', rule)
}
