/**
 * JSON-RPC to a node that may lie, hang or answer somebody else: one call a request, each with an id of its own that the
 * reply must have. No batches, retries or redirects: libraries mix up the replies of the one, outlast every time limit
 * with the other, and hand the call to strangers with the third.
 */
import { z } from 'zod'
import { postJson, ReplyError } from './post-json.ts'

/** A node's longest honest reply to us, a receipt with its logs, is far below this. */
const REPLY_BYTES_MAX = 1024 * 1024

/** The node has refused the call. Its own text is for x402's facilitator, which reads reasons from it, and for nobody else. */
class RpcError extends Error {
  override name = 'RpcError'
  readonly code: number
  readonly data: unknown

  constructor({ code, message, data }: { code: number; message: string; data?: unknown }) {
    super(message)
    this.code = code
    this.data = data
  }
}

const replySchema = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.int(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
})

export type Rpc = (method: string, params?: readonly unknown[]) => Promise<unknown>

/** @returns a call that rejects for everything but a result that is the node's answer to it */
export function openRpc({ url, timeoutMs }: { url: string; timeoutMs: number }): Rpc {
  let lastId = 0
  return async (method, params = []) => {
    const id = (lastId += 1)
    const { json } = await postJson({
      url,
      body: { jsonrpc: '2.0', id, method, params },
      timeoutMs,
      bytesMax: REPLY_BYTES_MAX,
      isTypeChecked: false,
    })
    const reply = replySchema.safeParse(json)
    if (!reply.success) throw new ReplyError('NOT_JSON_RPC')
    if (reply.data.id !== id) throw new ReplyError('OTHER_ID')
    // Nodes send errors with statuses of all kinds, so the status says nothing that the reply doesn't.
    const { error } = reply.data
    const hasResult = Object.hasOwn(json as object, 'result')
    if ((error === undefined) !== hasResult) throw new ReplyError('NOT_JSON_RPC')
    if (error) throw new RpcError(error)
    return reply.data.result
  }
}

/** Thrown by every call to a node of another chain than the configured one. */
export class WrongChain extends Error {
  override name = 'WrongChain'
  readonly code = 'WRONG_CHAIN'
}

/**
 * The same, but the chain's id is asked for before the first call, and no call is made to another chain. A node that can't
 * be asked is asked again with the next call.
 */
export function onChain(rpc: Rpc, chainId: number): Rpc {
  let checked: Promise<void> | undefined
  async function check(): Promise<void> {
    if ((await rpc('eth_chainId')) !== `0x${chainId.toString(16)}`) throw new WrongChain('RPC_URL is another chain')
  }
  return async (method, params) => {
    checked ??= check().catch((cause: unknown) => {
      checked = undefined
      throw cause
    })
    await checked
    return rpc(method, params)
  }
}
