/**
 * Sends one JSON POST to an untrusted server and reads a JSON reply. It follows no redirect, bounds the size of the reply,
 * and rejects JSON with duplicate names. Errors contain neither the URL, which may hold a key, nor text of the reply.
 */
import { parseStrictJson } from '../operation/strict-json.ts'
import { readBody } from './read-body.ts'

/** The server sent no acceptable reply. `code` is for the log. */
export class ReplyError extends Error {
  override name = 'ReplyError'
  readonly code: string

  constructor(code: string, options?: ErrorOptions) {
    super(`No acceptable reply: ${code}`, options)
    this.code = code
  }
}

interface Post {
  url: string
  headers?: Record<string, string>
  body: unknown
  /** Ends the connection, also while the body is read. */
  signal: AbortSignal
  bytesMax: number
  /** Require a JSON content type. Chain nodes often send another. */
  isTypeChecked: boolean
}

export async function postJson(post: Post): Promise<{ status: number; json: unknown }> {
  const { status, type, bytes } = await exchange(post).catch((cause: unknown) => {
    throw post.signal.aborted || cause instanceof ReplyError ? cause : unreachable(cause)
  })
  if (post.isTypeChecked && !isJsonType(type)) throw new ReplyError('NOT_JSON')
  const parsed = parseStrictJson(bytes)
  if (parsed.kind !== 'valid') throw new ReplyError(parsed.kind === 'invalid' ? 'NOT_JSON' : 'DUPLICATE_NAME')
  return { status, json: parsed.value }
}

async function exchange({ url, headers, body, signal, bytesMax }: Post) {
  const response = await fetch(url, {
    method: 'POST',
    // Uncompressed, so the limit applies to the bytes received.
    headers: { 'Content-Type': 'application/json', 'Accept-Encoding': 'identity', ...headers },
    body: JSON.stringify(body),
    redirect: 'error',
    signal,
  })
  const bytes = await readBody(response, bytesMax)
  if (!bytes) throw new ReplyError('TOO_LARGE')
  return { status: response.status, type: response.headers.get('Content-Type'), bytes }
}

/** Keeps the network error code of a failed fetch and drops its messages. */
function unreachable(failure: unknown): ReplyError {
  const cause = failure instanceof Error ? failure.cause : undefined
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return new ReplyError('UNREACHABLE', { cause: Object.assign(new Error('Connection failed'), { code }) })
}

function isJsonType(type: string | null): boolean {
  return /^application\/json[ \t]*(;|$)/i.test(type ?? '')
}
