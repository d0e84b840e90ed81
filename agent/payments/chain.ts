/** What the chain says of one EIP-3009 authorization: the only judge of a payment whose outcome is not known. */
import { encodeFunctionData, getAddress, pad, parseAbi, toEventSelector, type Hex } from 'viem'
import { z } from 'zod'
import type { Authorization } from './headers.ts'
import { onChain, openRpc, type Rpc } from './json-rpc.ts'

/** One call may take this long, body and all; a retry that waits for it must stay well inside a client's patience. */
const RPC_TIMEOUT_MS = 5_000

/**
 * Blocks in which an authorization is used if ever, on chains whose blocks take half a second or more. They are searched
 * first and apart: nodes refuse a search of very many blocks, which it would be for a payment that was left for days.
 */
const LIFETIME_BLOCKS = 999n

const STATE = parseAbi(['function authorizationState(address authorizer, bytes32 nonce) view returns (bool)'])
const USED = toEventSelector('AuthorizationUsed(address,bytes32)')
const CANCELED = toEventSelector('AuthorizationCanceled(address,bytes32)')
const TRANSFER = toEventSelector('Transfer(address,address,uint256)')

interface Transfer {
  from: string
  to: string
  value: bigint
  /** Transaction hash, lower case. */
  transaction: string
}

export type Evidence =
  /**
   * The nonce is free in the newest block, whose time, in seconds, is `time`. `finalTime` is the time of the final block,
   * in which it was free too; 0 while the authorization may still be used, for then it decides nothing.
   */
  | { nonce: 'free'; time: bigint; finalTime: bigint }
  /** The nonce is spent, by this transfer: the one logged directly after `AuthorizationUsed`. */
  | { nonce: 'used'; transfer: Transfer; isFinal: boolean }
  | { nonce: 'cancelled'; isFinal: boolean }
  /** Spent, but no log of it was found; nothing follows from that. */
  | { nonce: 'unclear' }

interface Question {
  asset: string
  authorization: Authorization
}

export interface Chain {
  /** The newest block's number. */
  head(): Promise<bigint>
  /** Whether the newest state has the nonce as neither used nor cancelled. Throws when the chain can't be read. */
  isNonceFree(question: Question): Promise<boolean>
  /** Throws when the chain can't be read. */
  evidence(question: Question & { fromBlock: bigint }): Promise<Evidence>
}

const hash = z.string().regex(/^0x[0-9a-f]{64}$/)
const hexNumber = z
  .string()
  .regex(/^0x[0-9a-f]{1,64}$/, { abort: true })
  .transform((text) => BigInt(text))
/** `boolean` as a contract returns it. No code at the address returns nothing at all, which is no answer. */
const flag = z
  .string()
  .regex(/^0x0{63}[01]$/, { abort: true })
  .transform((text) => text.endsWith('1'))

const blockSchema = z.object({ number: hexNumber, hash, timestamp: hexNumber })
type Block = z.infer<typeof blockSchema>

const logSchema = z.object({
  address: z.string(),
  topics: z.array(hash),
  data: z.string(),
  transactionHash: hash,
  logIndex: hexNumber,
  blockNumber: hexNumber,
  blockHash: hash,
  removed: z.boolean().optional(),
})
type Log = z.infer<typeof logSchema>

const receiptSchema = z.object({
  status: hexNumber,
  transactionHash: hash,
  blockNumber: hexNumber,
  blockHash: hash,
  logs: z.array(logSchema),
})

interface Place {
  url: string
  chainId: number
  timeoutMs?: number
}

/** Nothing is asked of the node before it is first needed, and nothing is believed of one of another chain. */
export function openChain({ url, chainId, timeoutMs = RPC_TIMEOUT_MS }: Place): Chain {
  const rpc = onChain(openRpc({ url, timeoutMs }), chainId)
  return {
    head: async () => hexNumber.parse(await rpc('eth_blockNumber')),
    isNonceFree: async (question) => !(await isSpent(rpc, nonceOf(question), 'latest')),
    async evidence({ fromBlock, ...question }) {
      const nonce = nonceOf(question)
      const newest = await blockAt(rpc, 'latest')
      // By the block's hash: behind one address there may be nodes of which some lag, and a block may go.
      if (await isSpent(rpc, nonce, { blockHash: newest.hash })) return readSpent(rpc, { nonce, fromBlock, newest })
      return { nonce: 'free', time: newest.timestamp, finalTime: await finalTime(rpc, question, newest) }
    },
  }
}

/** What is free in the newest block was free in every block before it, so old states, which nodes drop, aren't asked. */
async function finalTime(rpc: Rpc, { authorization }: Question, newest: Block): Promise<bigint> {
  if (newest.timestamp < BigInt(authorization.validBefore)) return 0n
  const final = await blockAt(rpc, 'finalized')
  return final.number <= newest.number ? final.timestamp : 0n
}

interface Nonce {
  token: string
  from: Hex
  nonce: Hex
}

function nonceOf({ asset, authorization: { from, nonce } }: Question): Nonce {
  return { token: asset.toLowerCase(), from: from.toLowerCase() as Hex, nonce: nonce.toLowerCase() as Hex }
}

async function isSpent(rpc: Rpc, { token, from, nonce }: Nonce, at: 'latest' | { blockHash: string }) {
  const data = encodeFunctionData({ abi: STATE, args: [getAddress(from), nonce] })
  return flag.parse(await rpc('eth_call', [{ to: token, data }, at]))
}

async function blockAt(rpc: Rpc, at: string): Promise<Block> {
  return blockSchema.parse(await rpc('eth_getBlockByNumber', [at, false]))
}

interface Search {
  nonce: Nonce
  fromBlock: bigint
  newest: Block
}

async function readSpent(rpc: Rpc, { nonce, fromBlock, newest }: Search): Promise<Evidence> {
  for (const range of rangesFrom(fromBlock, newest.number)) {
    const [ending] = await logsOf(rpc, nonce, range)
    if (ending?.topics[0] === CANCELED) return { nonce: 'cancelled', isFinal: await isFinal(rpc, ending) }
    if (ending) return readTransfer(rpc, nonce, ending)
  }
  return { nonce: 'unclear' }
}

/** Use or cancellation of this very nonce. A node that answers with other logs as well is not believed with them. */
async function logsOf(rpc: Rpc, nonce: Nonce, range: { fromBlock: string; toBlock: string }): Promise<Log[]> {
  const filter = { address: nonce.token, topics: [[USED, CANCELED], pad(nonce.from), nonce.nonce], ...range }
  const logs = z.array(logSchema).parse(await rpc('eth_getLogs', [filter]))
  return logs.filter((log) => log.removed !== true && (isOf(log, nonce, USED) || isOf(log, nonce, CANCELED)))
}

function isOf({ address, topics }: Log, { token, from, nonce }: Nonce, event: Hex): boolean {
  return address.toLowerCase() === token && topics[0] === event && topics[1] === pad(from) && topics[2] === nonce
}

async function readTransfer(rpc: Rpc, nonce: Nonce, used: Log): Promise<Evidence> {
  const receipt = receiptSchema.nullable().parse(await rpc('eth_getTransactionReceipt', [used.transactionHash]))
  if (receipt?.status !== 1n || receipt.transactionHash !== used.transactionHash) return { nonce: 'unclear' }
  const use = receipt.logs.find((log) => isOf(log, nonce, USED))
  // The token logs the transfer directly after the use of its authorization; any other transfer is somebody else's.
  const next = receipt.logs.find((log) => use && log.logIndex === use.logIndex + 1n)
  const transfer = next && transferOf(next, nonce)
  if (!transfer) return { nonce: 'unclear' }
  return { nonce: 'used', transfer, isFinal: await isFinal(rpc, receipt) }
}

function transferOf({ address, topics, data, transactionHash }: Log, { token }: Nonce): Transfer | undefined {
  const [event, from, to] = topics
  const isTransfer = address.toLowerCase() === token && event === TRANSFER && /^0x[0-9a-f]{64}$/.test(data)
  if (!isTransfer || from === undefined || to === undefined) return undefined
  return { from: addressIn(from), to: addressIn(to), value: BigInt(data), transaction: transactionHash }
}

function addressIn(topic: string): string {
  return `0x${topic.slice(26)}`
}

/** Whether a block is among the final ones: old enough, and the one that the chain has at its height. */
async function isFinal(rpc: Rpc, { blockNumber, blockHash }: { blockNumber: bigint; blockHash: string }) {
  const final = await blockAt(rpc, 'finalized')
  if (blockNumber > final.number) return false
  return (await blockAt(rpc, hexOf(blockNumber))).hash === blockHash
}

function rangesFrom(fromBlock: bigint, head: bigint): { fromBlock: string; toBlock: string }[] {
  const near = fromBlock + LIFETIME_BLOCKS
  if (near >= head) return [{ fromBlock: hexOf(fromBlock), toBlock: hexOf(head) }]
  return [
    { fromBlock: hexOf(fromBlock), toBlock: hexOf(near) },
    { fromBlock: hexOf(near + 1n), toBlock: hexOf(head) },
  ]
}

function hexOf(number: bigint): string {
  return `0x${number.toString(16)}`
}
