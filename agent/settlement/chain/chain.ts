/** Reads one chain through one or several nodes. Only these reads decide a payment whose outcome is unknown. */
import { numberToHex, pad, toEventSelector, type Hex } from 'viem'
import * as z from 'zod'
import { openRpc, type Rpc } from '../rpc/json-rpc.ts'
import { FINAL_CONFIRMATIONS_DEFAULT, findBlockBefore, hash, hexNumber, readBlock } from './blocks.ts'
import { ClockCheck } from './clock.ts'
import { openObserver, type Observation } from './observe.ts'
import { RangeSearch } from './search-block-ranges.ts'

/** Blocks that are searched if the first block is above the newest one. */
const BLOCKS_BEFORE_NEWEST = 999n
/** How much earlier than needed a search by time may begin: the first range of a search (`search-block-ranges.ts`). */
const BLOCKS_TOO_EARLY_MAX = 1_000n

export const USED = toEventSelector('AuthorizationUsed(address,bytes32)')
export const CANCELED = toEventSelector('AuthorizationCanceled(address,bytes32)')
export const TRANSFER = toEventSelector('Transfer(address,address,uint256)')

interface Transfer {
  from: string
  to: string
  value: bigint
  /** Transaction hash, lower case. */
  transaction: string
}

/** What used a nonce. */
export type NonceUse =
  /** This transfer, which is logged directly after `AuthorizationUsed`. */
  | { nonce: 'used'; transfer: Transfer; isFinal: boolean }
  | { nonce: 'cancelled'; isFinal: boolean }
  /** No matching log was found. */
  | { nonce: 'unclear' }

const UNCLEAR: NonceUse = { nonce: 'unclear' }

/** Where the use of a nonce is searched. */
interface UseQuery {
  asset: string
  payer: string
  nonce: string
  /** No event of the payment is in an older block, or before this time in seconds. */
  from: { block: bigint } | { time: bigint }
  /** A transaction that may contain the use, and that need not exist. */
  transaction?: string | undefined
}

export interface Chain extends ReturnType<typeof openObserver> {
  /** Finds what used a nonce that an observation shows as used. Throws if the node cannot be read. */
  findUse(query: UseQuery, observation: Observation): Promise<NonceUse>
  readonly nodeCount: number
  /** Whether the local clock is wrong, as far as the last observations show. */
  isClockWrong(): boolean
}

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
type EventLog = z.infer<typeof logSchema>

const receiptSchema = z.object({
  status: hexNumber,
  transactionHash: hash,
  blockNumber: hexNumber,
  blockHash: hash,
  logs: z.array(logSchema),
})

interface ChainOptions {
  chainId: number
  finalConfirmations?: number
  now: () => Date
  /** Called when the local clock becomes wrong or right. */
  onClockChange?: (isWrong: boolean) => void
  /** Called when a node was not usable for a minute. Nodes are counted from 0. */
  onUnusable?: (node: number, cause: unknown) => void
  pause?: (milliseconds: number) => Promise<unknown>
  /** Unfinished searches of logs that are kept in memory. */
  searchesMax?: number
}

/** One search, on the node of an observation. */
interface ObservedNode {
  rpc: Rpc
  search: RangeSearch
  newest: Pick<Observation, 'number' | 'time' | 'final'>
}

/** Opens no connection before the first call. */
export function openChain({ urls, ...options }: ChainOptions & { urls: readonly string[] }): Chain {
  return readChainWith(
    urls.map((url) => openRpc({ url })),
    options,
  )
}

export function readChainWith(nodes: readonly Rpc[], options: ChainOptions): Chain {
  const {
    finalConfirmations = FINAL_CONFIRMATIONS_DEFAULT,
    searchesMax,
    now,
    onClockChange = () => undefined,
  } = options
  const clock = new ClockCheck(now, onClockChange)
  const searches = nodes.map(() => new RangeSearch(searchesMax))
  return {
    ...openObserver(nodes, { ...options, finalConfirmations: BigInt(finalConfirmations), clock }),
    nodeCount: nodes.length,
    isClockWrong: () => clock.isWrong,
    findUse(query, observation) {
      const [rpc, search] = [nodes[observation.node], searches[observation.node]]
      if (!rpc || !search) throw new Error('An observation names no node')
      return findUse({ rpc, search, newest: observation }, query)
    },
  }
}

async function findUse(node: ObservedNode, query: UseQuery): Promise<NonceUse> {
  const { asset, payer, transaction, from } = query
  const nonce = {
    token: asset.toLowerCase(),
    from: payer.toLowerCase() as Hex,
    nonce: query.nonce.toLowerCase() as Hex,
  }
  const reported = transaction === undefined ? UNCLEAR : await readTransfer(node, nonce, transaction)
  if (reported.nonce === 'used') return reported
  if ('block' in from) return searchLogs(node, nonce, { fromBlock: from.block, isNewestFirst: false })
  const { rpc, newest } = node
  const fromBlock = await findBlockBefore(rpc, { newest, time: from.time, step: BLOCKS_TOO_EARLY_MAX })
  // A payment of the last minutes is asked for more often than one of the hour before.
  return searchLogs(node, nonce, { fromBlock, isNewestFirst: true })
}

interface NonceKey {
  token: string
  from: Hex
  nonce: Hex
}

async function searchLogs(
  node: ObservedNode,
  nonce: NonceKey,
  { fromBlock, isNewestFirst }: { fromBlock: bigint; isNewestFirst: boolean },
): Promise<NonceUse> {
  const { rpc, search, newest } = node
  const log = await search.find({
    key: `${nonce.token}/${nonce.from}/${nonce.nonce}`,
    from: fromBlock <= newest.number ? fromBlock : blocksBefore(newest.number, BLOCKS_BEFORE_NEWEST),
    to: newest.number,
    isNewestFirst,
    read: async (range) => (await readLogs(rpc, nonce, range))[0],
  })
  if (!log) return UNCLEAR
  if (log.topics[0] === CANCELED) return { nonce: 'cancelled', isFinal: await isFinal(node, log) }
  return readTransfer(node, nonce, log.transactionHash)
}

/** Reads the logs of the use or cancellation of this nonce. Ignores unrelated logs that the node may return. */
async function readLogs(rpc: Rpc, nonce: NonceKey, { from, to }: { from: bigint; to: bigint }): Promise<EventLog[]> {
  const range = { fromBlock: numberToHex(from), toBlock: numberToHex(to) }
  const filter = { address: nonce.token, topics: [[USED, CANCELED], pad(nonce.from), nonce.nonce], ...range }
  const logs = z.array(logSchema).parse(await rpc('eth_getLogs', [filter]))
  return logs.filter((log) => log.removed !== true && (isLogOf(log, nonce, USED) || isLogOf(log, nonce, CANCELED)))
}

function isLogOf({ address, topics }: EventLog, { token, from, nonce }: NonceKey, event: Hex): boolean {
  return address.toLowerCase() === token && topics[0] === event && topics[1] === pad(from) && topics[2] === nonce
}

/** Reads the transfer of this nonce from a transaction. Unclear if the transaction has none. */
async function readTransfer(node: ObservedNode, nonce: NonceKey, transaction: string): Promise<NonceUse> {
  const receipt = receiptSchema.nullable().parse(await node.rpc('eth_getTransactionReceipt', [transaction]))
  if (receipt?.status !== 1n || receipt.transactionHash !== transaction) return UNCLEAR
  const use = receipt.logs.find((log) => isLogOf(log, nonce, USED))
  // The token logs the transfer directly after the use. Other transfers in the transaction are unrelated.
  const next = receipt.logs.find((log) => use && log.logIndex === use.logIndex + 1n)
  const transfer = next && parseTransfer(next, nonce)
  if (!transfer) return UNCLEAR
  return { nonce: 'used', transfer, isFinal: await isFinal(node, receipt) }
}

function parseTransfer(
  { address, topics, data, transactionHash }: EventLog,
  { token }: NonceKey,
): Transfer | undefined {
  const [event, from, to] = topics
  const isTransfer = address.toLowerCase() === token && event === TRANSFER && /^0x[0-9a-f]{64}$/.test(data)
  if (!isTransfer || from === undefined || to === undefined) return undefined
  return { from: topicToAddress(from), to: topicToAddress(to), value: BigInt(data), transaction: transactionHash }
}

function topicToAddress(topic: string): string {
  return `0x${topic.slice(26)}`
}

/** Whether a block is final: not above the final block, and still the block at its height. */
async function isFinal(
  { rpc, newest: { final } }: ObservedNode,
  { blockNumber, blockHash }: { blockNumber: bigint; blockHash: string },
): Promise<boolean> {
  if (!final || blockNumber > final.number) return false
  return (await readBlock(rpc, blockNumber)).hash === blockHash
}

function blocksBefore(number: bigint, count: bigint): bigint {
  return number > count ? number - count : 0n
}
