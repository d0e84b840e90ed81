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
export type Rpc = (method: string, params?: readonly unknown[]) => Promise<unknown>

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

interface RpcOptions {
  url: string
  timeoutMs?: number
  /** Ends the calls earlier. */
  signal?: AbortSignal
}

export function openRpc({ url, timeoutMs = NODE_MS_MAX, signal }: RpcOptions): Rpc {
  return async (method, params = []) => {
    lastId += 1
    const body = { jsonrpc: '2.0', id: lastId, method, params }
    const bytesMax = method === 'eth_getLogs' ? LOGS_BYTES_MAX : REPLY_BYTES_MAX
    // The HTTP status is ignored: nodes send JSON-RPC errors with various statuses.
    const { json } = await postJson({ url, body, timeoutMs, signal, bytesMax })
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

/** The node belongs to another chain than the configured one. */
export class WrongChain extends Error {
  override name = 'WrongChain'
  readonly code = 'WRONG_CHAIN'

  constructor() {
    super('RPC_URL belongs to another chain')
  }
}

const chainIdSchema = z.string().regex(/^0x[0-9a-f]{1,64}$/i)

/** A node that is starting may return `null` or `0x`. That is no chain id, and the call can be repeated. */
async function checkChainId(rpc: Rpc, chainId: number): Promise<void> {
  const parsed = chainIdSchema.safeParse(await rpc('eth_chainId'))
  if (!parsed.success) throw new ReplyError('NO_CHAIN_ID')
  if (BigInt(parsed.data) !== BigInt(chainId)) throw new WrongChain()
}

/** Checks the chain id before the first call. A failed check is repeated before the next call. */
export function onChain(rpc: Rpc, chainId: number): Rpc {
  let checked: Promise<void> | undefined
  return async (method, params) => {
    checked ??= checkChainId(rpc, chainId).catch((cause: unknown) => {
      checked = undefined
      throw cause
    })
    await checked
    return rpc(method, params)
  }
}

/**
 * Calls the nodes in turn, beginning with the one that answered last, until one answers. An error that the contract
 * causes is an answer.
 */
export function inTurn(nodes: readonly Rpc[]): Rpc {
  let preferred = 0
  return async (method, params) => {
    let failure: unknown
    for (let turn = 0; turn < nodes.length; turn += 1) {
      const node = (preferred + turn) % nodes.length
      try {
        const result = await nodes[node]?.(method, params)
        preferred = node
        return result
      } catch (cause) {
        if (cause instanceof RpcError && isRevert(cause)) throw cause
        failure = cause
      }
    }
    // The next call begins with another node.
    preferred = (preferred + 1) % nodes.length
    throw failure
  }
}

/** `message` is compared only, because not all nodes send the code or the data. */
export function isRevert({ code, message, data }: RpcError): boolean {
  return code === 3 || (typeof data === 'string' && data.startsWith('0x')) || /revert/i.test(message)
}
