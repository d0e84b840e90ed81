/**
 * One POST of JSON to a machine that is not trusted: no redirects, one limit of time over connection, headers and body,
 * and a limit on the reply's size. What comes back is JSON that reads in one way only, or an error.
 */
import { readJson } from '../operation/strict-json.ts'

/** The reply is no answer. The message is ours; nothing of the reply is in it. */
export class ReplyError extends Error {
  override name = 'ReplyError'
  /** A word for the log. */
  readonly code: string

  constructor(code: string) {
    super('A reply could not be taken')
    this.code = code
  }
}

interface Post {
  url: string
  headers?: Record<string, string>
  body: unknown
  timeoutMs: number
  bytesMax: number
  /** Whether a reply must call itself JSON; nodes of chains often don't. */
  isTypeChecked: boolean
}

export async function postJson(post: Post): Promise<{ status: number; json: unknown }> {
  const response = await fetch(post.url, {
    method: 'POST',
    // Not compressed, so that the bytes counted are those that came.
    headers: { 'Content-Type': 'application/json', 'Accept-Encoding': 'identity', ...post.headers },
    body: JSON.stringify(post.body),
    redirect: 'error',
    signal: AbortSignal.timeout(post.timeoutMs),
  })
  try {
    if (post.isTypeChecked && !isJson(response.headers.get('Content-Type'))) throw new ReplyError('NOT_JSON')
    const read = readJson(await readLimited(response, post.bytesMax))
    if (read.kind !== 'json') throw new ReplyError(read.kind === 'not_json' ? 'NOT_JSON' : 'REPEATED_NAME')
    return { status: response.status, json: read.value }
  } catch (cause) {
    // Frees the connection of a reply that nobody will read on.
    await response.body?.cancel().catch(() => undefined)
    throw cause
  }
}

async function readLimited(response: Response, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = response.body?.getReader()
  try {
    for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
      length += part.value.byteLength
      if (length > bytesMax) throw new ReplyError('TOO_LARGE')
      chunks.push(part.value)
    }
  } finally {
    reader?.releaseLock()
  }
  return Buffer.concat(chunks)
}

function isJson(type: string | null): boolean {
  return /^application\/json[ \t]*(;|$)/i.test(type ?? '')
}
