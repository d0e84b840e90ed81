/**
 * Sends one JSON POST to an untrusted server and reads a JSON reply. It refuses redirects, replies that are too large,
 * and JSON with duplicate names. Errors contain neither the URL, which may hold a key, nor text of the reply.
 */
import { parseStrictJson } from '../../../store/base/strict-json.ts'
import { post, ReplyTooLarge } from './http-client.ts'
import { isTimeout } from './time-limits.ts'
import { isJsonType } from '../../../store/base/json-type.ts'

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

  constructor(retryAfter: string | undefined) {
    super('STATUS_429')
    this.waitMs = /^[0-9]{1,6}$/.test(retryAfter ?? '') ? Number(retryAfter) * 1000 : 0
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

interface JsonPost extends Pick<
  Parameters<typeof post>[0],
  'url' | 'timeoutMs' | 'signal' | 'bytesMax' | 'isRepeatable'
> {
  headers?: Record<string, string>
  body: unknown
  /** Require a JSON content type. Chain nodes often send another. */
  isTypeChecked: boolean
}

export async function postJson({ isTypeChecked, headers, body, ...limits }: JsonPost) {
  const { status, type, retryAfter, bytes } = await post({
    ...limits,
    headers: { ...HEADERS, ...headers },
    body: JSON.stringify(body),
  }).catch((cause: unknown) => {
    throw describeFailure(cause, limits.signal)
  })
  if (status >= 300 && status < 400) throw unreachable('REDIRECT')
  if (status === 429) throw new RateLimited(retryAfter)
  if (isTypeChecked && !isJsonType(type ?? '')) throw new ReplyError('NOT_JSON')
  const parsed = parseStrictJson(bytes)
  if (parsed.kind !== 'valid') throw new ReplyError(parsed.kind === 'invalid' ? 'NOT_JSON' : 'DUPLICATE_NAME')
  return { status, json: parsed.value }
}

/** Keeps the error code of a failed connection and drops its message. */
function describeFailure(cause: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted || isTimeout(cause)) return cause
  if (cause instanceof ReplyTooLarge) return new ReplyError('TOO_LARGE')
  return unreachable(cause instanceof Error && 'code' in cause ? cause.code : undefined)
}

function unreachable(code: unknown): ReplyError {
  return new ReplyError('UNREACHABLE', { cause: Object.assign(new Error('Connection failed'), { code }) })
}
