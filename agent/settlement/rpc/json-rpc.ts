/**
 * JSON-RPC 2.0 client for untrusted chain nodes. Every reply must have the id of its call. The client never retries,
 * which would exceed the time limit, and never follows redirects. Client libraries do not guarantee this.
 */
import * as z from 'zod'
import { postJson, ReplyError } from './post-json.ts'
import { NODE_MS_MAX } from './time-limits.ts'

/** Fits the largest expected reply: ten feedback entries with two tags of 24 KiB each, in hex digits. */
const REPLY_BYTES_MAX = 1_048_576

/** Fits the transfers to one receiver in a block that has nothing else. */
const LOGS_BYTES_MAX = 8 * REPLY_BYTES_MAX

/** An error reply of the node. Only the x402 facilitator may read `message`, which is untrusted text. */
export class RpcError extends Error {
  override name = 'RpcError'
  readonly code: number
  readonly data: unknown

  constructor({ code, message, data }: { code: number; message: string; data?: unknown }) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** One call in one request. Rejects unless the node returns a result. */
export type Rpc = (method: string, params?: readonly unknown[], limits?: CallLimits) => Promise<unknown>

/** Ends a call earlier than the client does. */
export interface CallLimits {
  timeoutMs?: number | undefined
  signal?: AbortSignal | undefined
}

const replySchema = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: z.int(),
    result: z.unknown().optional(),
    error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
  })
  .refine((reply) => Object.hasOwn(reply, 'result') !== Object.hasOwn(reply, 'error'))

/** Never repeated within the process, so the reply to one call is never taken for the reply to another. */
let lastId = 0

export function openRpc({ url, timeoutMs = NODE_MS_MAX }: { url: string; timeoutMs?: number }): Rpc {
  return async (method, params = [], { timeoutMs: limitMs = timeoutMs, signal } = {}) => {
    lastId += 1
    const body = { jsonrpc: '2.0', id: lastId, method, params }
    const bytesMax = method === 'eth_getLogs' ? LOGS_BYTES_MAX : REPLY_BYTES_MAX
    // The HTTP status is ignored: nodes send JSON-RPC errors with various statuses.
    const { json } = await postJson({ url, body, timeoutMs: limitMs, signal, bytesMax })
    const reply = replySchema.safeParse(json).data
    if (!reply) throw new ReplyError('NOT_JSON_RPC')
    if (reply.id !== body.id) throw new ReplyError('OTHER_ID')
    if (reply.error) throw new RpcError(reply.error)
    return reply.result
  }
}

/** Whether a node answers a call that it refuses only with a wrong API key. */
export function isAnswering(url: string): Promise<boolean> {
  return openRpc({ url })('eth_chainId').then(
    () => true,
    () => false,
  )
}

/** `message` is compared only, because not all nodes send the code or the data. */
export function isRevert({ code, message, data }: RpcError): boolean {
  return code === 3 || (typeof data === 'string' && data.startsWith('0x')) || /revert/i.test(message)
}
