/** What the chain says of one EIP-3009 authorization: the only judge of a payment whose outcome is not known. */
import { createPublicClient, http, parseAbi, parseEventLogs, type Hex, type PublicClient } from 'viem'
import type { Authorization } from './headers.ts'

/** One call may take this long, body and all; a retry that waits for it must stay well inside a client's patience. */
const RPC_TIMEOUT_MS = 5_000

/**
 * Blocks in which an authorization is used if ever, on chains whose blocks take half a second or more. They are searched
 * first and apart: nodes refuse a search of very many blocks, which it would be for a payment that was left for days.
 */
const LIFETIME_BLOCKS = 999n

const TOKEN = parseAbi([
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
])

interface Transfer {
  from: string
  to: string
  value: bigint
  /** Transaction hash, lower case. */
  transaction: string
}

export type Evidence =
  /** The nonce is free. `finalTime` is the time, in seconds, of the final block in which it was free too. */
  | { nonce: 'free'; finalTime: bigint }
  /** The nonce is spent, by this transfer: the one logged directly after `AuthorizationUsed`. */
  | { nonce: 'used'; transfer: Transfer }
  | { nonce: 'cancelled' }
  /** Spent, but no log of it was found; nothing follows from that. */
  | { nonce: 'unclear' }

export interface Chain {
  /** The newest block's number. */
  head(): Promise<bigint>
  /** Whether the newest state has the nonce as neither used nor cancelled. Throws when the chain can't be read. */
  isNonceFree(query: { asset: string; authorization: Authorization }): Promise<boolean>
  /** Throws when the chain can't be read. */
  evidence(query: { asset: string; authorization: Authorization; fromBlock: bigint }): Promise<Evidence>
}

export function openChain({ url, timeoutMs = RPC_TIMEOUT_MS }: { url: string; timeoutMs?: number }): Chain {
  // The library's own time limit ends with the headers, and a body may then take for ever.
  const inTime: typeof fetch = (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(timeoutMs) })
  // Retries and batching of the library are off: they exceed our time limits and mix up replies.
  const client = createPublicClient({
    transport: http(url, { batch: false, retryCount: 0, timeout: timeoutMs, fetchFn: inTime }),
    cacheTime: 0,
  })
  const isUsed = ({ token, key }: Pick<SpentQuery, 'token' | 'key'>, at: { blockNumber?: bigint } = {}) =>
    client.readContract({ address: token, abi: TOKEN, functionName: 'authorizationState', args: key, ...at })
  return {
    head: () => client.getBlockNumber({ cacheTime: 0 }),
    isNonceFree: async ({ asset, authorization }) => !(await isUsed(nonceOf(asset, authorization))),
    async evidence({ asset, authorization, fromBlock }) {
      const nonce = nonceOf(asset, authorization)
      if (await isUsed(nonce)) return readSpent(client, { ...nonce, fromBlock })
      const final = await client.getBlock({ blockTag: 'finalized' })
      // Before the authorization's end the final state decides nothing, so it isn't asked for.
      const isOver = final.timestamp >= BigInt(authorization.validBefore)
      if (isOver && (await isUsed(nonce, { blockNumber: final.number }))) return { nonce: 'unclear' }
      return { nonce: 'free', finalTime: final.timestamp }
    },
  }
}

function nonceOf(asset: string, { from, nonce }: Authorization): Pick<SpentQuery, 'token' | 'key'> {
  return { token: asset as Hex, key: [from.toLowerCase() as Hex, nonce.toLowerCase() as Hex] }
}

interface SpentQuery {
  token: Hex
  key: readonly [from: Hex, nonce: Hex]
  fromBlock: bigint
}

async function readSpent(client: PublicClient, { token, key, fromBlock }: SpentQuery): Promise<Evidence> {
  const [authorizer, nonce] = key
  for (const range of rangesFrom(fromBlock, await client.getBlockNumber({ cacheTime: 0 }))) {
    const query = { address: token, abi: TOKEN, args: { authorizer, nonce }, strict: true, ...range } as const
    const [used] = await client.getContractEvents({ ...query, eventName: 'AuthorizationUsed' })
    if (used) return readTransfer(client, token, used)
    const [cancelled] = await client.getContractEvents({ ...query, eventName: 'AuthorizationCanceled' })
    if (cancelled) return { nonce: 'cancelled' }
  }
  return { nonce: 'unclear' }
}

async function readTransfer(
  client: PublicClient,
  token: Hex,
  used: { transactionHash: Hex; logIndex: number },
): Promise<Evidence> {
  const receipt = await client.getTransactionReceipt({ hash: used.transactionHash })
  // The token logs the transfer directly after the use of its authorization; any other transfer is somebody else's.
  const transfer = parseEventLogs({ abi: TOKEN, eventName: 'Transfer', logs: receipt.logs, strict: true }).find(
    (log) => log.logIndex === used.logIndex + 1 && log.address.toLowerCase() === token.toLowerCase(),
  )
  if (receipt.status !== 'success' || !transfer) return { nonce: 'unclear' }
  const { from, to, value } = transfer.args
  return { nonce: 'used', transfer: { from, to, value, transaction: used.transactionHash.toLowerCase() } }
}

function rangesFrom(fromBlock: bigint, head: bigint): { fromBlock: bigint; toBlock: bigint }[] {
  const near = fromBlock + LIFETIME_BLOCKS
  if (near >= head) return [{ fromBlock, toBlock: head }]
  return [
    { fromBlock, toBlock: near },
    { fromBlock: near + 1n, toBlock: head },
  ]
}
