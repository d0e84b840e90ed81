/** The faults of an RPC node that the kill programme injects: what the node replies instead of its true reply. */

export interface RpcCall {
  id: unknown
  method: string
  params: unknown[]
}

/** The reply, `hangs` without one, or undefined for the true reply. */
type FaultyReply = object | 'hangs' | undefined

const FALSE = `0x${'0'.repeat(64)}`
const LOG_BLOCKS_MAX = 10n

const result = (value: unknown): FaultyReply => ({ result: value })
const failure = (message: string): FaultyReply => ({ error: { code: -32_000, message } })

/** A chain without any payment. */
function withoutPayments({ method }: RpcCall): FaultyReply {
  if (method === 'eth_call') return result(FALSE)
  if (method === 'eth_getLogs') return result([])
  return method === 'eth_getTransactionReceipt' ? result(null) : undefined
}

const FAULTS = {
  'calls hang': () => 'hangs',
  'calls fail': () => failure('internal error'),
  'another chain': (call) => (call.method === 'eth_chainId' ? result('0x1') : withoutPayments(call)),
  'a fork with the same id': withoutPayments,
  'logs are limited': ({ method, params: [filter] }) => {
    const { fromBlock = '0x0', toBlock = '0x0' } = (filter ?? {}) as Record<string, string>
    const isWide = method === 'eth_getLogs' && BigInt(toBlock) - BigInt(fromBlock) >= LOG_BLOCKS_MAX
    return isWide ? failure('block range is too wide') : undefined
  },
  'no block is final': ({ method, params: [at] }) =>
    method === 'eth_getBlockByNumber' && at === 'finalized' ? failure('no such block') : undefined,
} as const satisfies Record<string, (call: RpcCall) => FaultyReply>

export type RpcFault = keyof typeof FAULTS

export const RPC_FAULTS = Object.keys(FAULTS) as RpcFault[]

export function replyWith(fault: RpcFault, call: RpcCall): FaultyReply {
  return FAULTS[fault](call)
}
