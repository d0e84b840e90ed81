/**
 * JSON-RPC by batches over fetch. Libraries align a batch's answers by position, end their time limit with the headers and
 * retry behind the caller's back, each of which was seen to give wrong or late answers; here every answer is one we asked
 * for, or there is none.
 */
import { z } from 'zod'
import { inTime, type Timer } from './deadline.ts'
import { RegistryError } from './errors.ts'

/** Headers and body of one batch. */
const HTTP_MS_MAX = 2_000
/** Ten feedbacks with two tags of 24 KiB each, in hexadecimal digits, are just below. */
const BODY_BYTES_MAX = 1_048_576

export interface Call {
  method: string
  params: unknown[]
}

/** The result, or the data of the error; errors have it when a contract reverted. */
export type Reply = { result: unknown } | { revert: unknown }

/** Replies come in the order of the calls. */
export type SendBatch = (calls: readonly Call[], signal: AbortSignal) => Promise<Reply[]>

const Answers = z.array(
  z
    .object({
      jsonrpc: z.literal('2.0'),
      id: z.int(),
      result: z.unknown().optional(),
      error: z.object({ code: z.int(), data: z.unknown().optional() }).optional(),
    })
    .refine((answer) => Object.hasOwn(answer, 'result') !== Object.hasOwn(answer, 'error')),
)

export interface Node {
  url: string
  fetch: typeof fetch
  timer: Timer
}

export function openTransport({ url, fetch: send, timer }: Node): SendBatch {
  // Never the same twice, so that an answer to somebody else's batch is not taken for ours.
  let lastId = 0
  return async (calls, signal) => {
    const requests = calls.map(({ method, params }) => ({ jsonrpc: '2.0', id: (lastId += 1), method, params }))
    const text = await inTime({ timer, milliseconds: HTTP_MS_MAX, signal }, async (either) =>
      readBody(await post(send, url, JSON.stringify(requests), either)),
    )
    return align(
      requests.map(({ id }) => id),
      text,
    )
  }
}

async function post(send: typeof fetch, url: string, body: string, signal: AbortSignal): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  let response: Response
  try {
    response = await send(url, { method: 'POST', headers, body, signal, redirect: 'error' })
  } catch {
    // Without the cause, which names the URL: that may hold the operator's key.
    throw new RegistryError('UNREACHABLE')
  }
  if (response.status !== 200) throw new RegistryError('BAD_STATUS')
  return response
}

async function readBody({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.length
      if (bytes > BODY_BYTES_MAX) throw new RegistryError('TOO_LARGE')
      chunks.push(chunk)
    }
  } catch (cause) {
    throw cause instanceof RegistryError ? cause : new RegistryError('UNREACHABLE')
  }
  return Buffer.concat(chunks).toString()
}

/** Each id exactly once, in any order, and no other. */
function align(ids: number[], text: string): Reply[] {
  const answers = parse(text)
  const byId = new Map(answers.map((answer) => [answer.id, answer]))
  if (answers.length !== ids.length || byId.size !== ids.length) throw new RegistryError('NOT_A_BATCH')
  return ids.map((id) => {
    const answer = byId.get(id)
    if (!answer) throw new RegistryError('NOT_A_BATCH')
    return answer.error ? { revert: answer.error.data } : { result: answer.result }
  })
}

function parse(text: string): z.infer<typeof Answers> {
  try {
    return Answers.parse(JSON.parse(text))
  } catch {
    throw new RegistryError('NOT_A_BATCH')
  }
}
