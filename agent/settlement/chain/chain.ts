/** Reads one chain through one or several nodes. Only these reads decide a payment whose outcome is unknown. */
import { pad } from 'viem'
import * as z from 'zod'
import { openRpc, type Rpc } from '../rpc/json-rpc.ts'
import { Nodes } from '../rpc/nodes.ts'
import { blockBefore, hash, hexNumber, readBlock } from './blocks.ts'
import { ClockCheck } from './clock.ts'
import {
  CANCELED,
  isLogOf,
  logSchema,
  parseTransfer,
  readLogs,
  USED,
  type EventLog,
  type Transfer,
} from './event-logs.ts'
import { keyOf, TransferSearch, type PaymentQuery } from './find-transfers.ts'
import { openObserver, type Observation, type ObserveOptions } from './observe.ts'
import { RangeSearch, type BlockRange } from './search-block-ranges.ts'
import type { NonceKey } from './token.ts'
import type { ObservedPayment } from './view.ts'

/** For one call of a read while another node is left: a third of the time of a read. */
const READ_CALL_MS_MAX = 1_000
/** Blocks that are searched if the first block is above the newest one. */
const BLOCKS_BEFORE_NEWEST = 999n

export type NonceUse =
  /** This transfer, which is logged directly after `AuthorizationUsed`. */
  | { nonce: 'used'; transfer: Transfer; isFinal: boolean }
  | { nonce: 'cancelled'; isFinal: boolean }
  /** No matching log was found. */
  | { nonce: 'unclear' }

/** Completes a found use with whether its block is final. Each block is read once. */
type UseReader = () => Promise<NonceUse>

const UNCLEAR: NonceUse = { nonce: 'unclear' }

interface UseQuery extends NonceKey {
  /** No event of the payment is in an older block, or before this time in seconds. */
  from: { block: bigint } | { time: bigint }
  /** A transaction that may contain the use, and that need not exist. */
  transaction?: string | undefined
}

export interface Chain {
  /** Rejects if no node gives an answer, if they belong to another chain, or if their state is not complete. */
  observe(payments: readonly ObservedPayment[], options?: ObserveOptions): Promise<Observation>
  /** Finds what used a nonce that an observation shows as used. Throws if the node cannot be read. */
  findUse(query: UseQuery, observation: Observation): Promise<NonceUse>
  /**
   * Finds the transfers of many payments with few calls, in the order of the queries. Undefined where none is found,
   * which decides nothing. Throws if the node cannot be read.
   */
  findTransfers(queries: readonly PaymentQuery[], observation: Observation): Promise<(UseReader | undefined)[]>
  /** Whether a block has this transaction, and it failed. Throws if the node cannot be read. */
  hasFailed(transaction: string, observation: Observation): Promise<boolean>
  readonly nodeCount: number
  /** Runs reads with one node after the other until one answers all of them. */
  read<Result>(work: (rpc: Rpc) => Promise<Result>, signal: AbortSignal): Promise<Result>
  /** Whether the local clock is wrong, as far as the last observations show. */
  isClockWrong(): boolean
}

const receiptSchema = z.object({
  status: hexNumber,
  transactionHash: hash,
  blockNumber: hexNumber,
  blockHash: hash,
  logs: z.array(logSchema),
})

interface ChainOptions {
  chainId: number
  now: () => Date
  /** Called when the local clock becomes wrong or right. */
  onClockChange?: (isWrong: boolean) => void
  pause?: (milliseconds: number) => Promise<unknown>
}

/** A node with its searches, and an observation that it made. */
interface ObservedNode {
  rpc: Rpc
  search: RangeSearch
  transfers: TransferSearch
  newest: Pick<Observation, 'number' | 'time' | 'final'>
}

/** Opens no connection before the first call. */
export function openChain({ urls, ...options }: ChainOptions & { urls: readonly string[] }): Chain {
  const nodes = urls.map((url) => openRpc({ url }))
  return readChainWith(nodes, options)
}

export function readChainWith(
  rpcs: readonly Rpc[],
  { chainId, now, onClockChange = () => undefined, pause }: ChainOptions,
): Chain {
  const clock = new ClockCheck(now, onClockChange)
  const nodes = new Nodes(rpcs, chainId)
  const searches = rpcs.map((rpc) => {
    return { rpc, search: new RangeSearch(), transfers: new TransferSearch() }
  })
  const nodeOf = (observation: Observation): ObservedNode => {
    const node = searches[observation.node]
    if (!node) throw new Error('An observation names no node')
    return { ...node, newest: observation }
  }
  return {
    observe: openObserver(nodes, { clock, pause }),
    nodeCount: rpcs.length,
    read: (work, signal) => nodes.inTurn(work, { timeoutMs: READ_CALL_MS_MAX, signal }),
    isClockWrong: () => clock.isWrong,
    findUse: (query, observation) => findUse(nodeOf(observation), query),
    findTransfers: (queries, observation) => findTransfers(nodeOf(observation), queries),
    hasFailed: async (transaction, observation) => (await readReceipt(nodeOf(observation), transaction))?.status === 0n,
  }
}

async function findUse(node: ObservedNode, query: UseQuery): Promise<NonceUse> {
  const { transaction, from } = query
  const reported = transaction === undefined ? UNCLEAR : await readTransfer(node, query, transaction)
  if (reported.nonce === 'used') return reported
  const { rpc, search, newest } = node
  const log = await search.find({
    key: keyOf(query),
    from: 'time' in from ? await blockBefore(rpc, newest.number, from.time) : firstBlock(node, from.block),
    to: newest.number,
    read: (range) => readUse(rpc, query, range),
  })
  if (!log) return UNCLEAR
  if (log.topics[0] === CANCELED) return { nonce: 'cancelled', isFinal: await isFinal(node, log) }
  return readTransfer(node, query, log.transactionHash)
}

function firstBlock({ newest: { number } }: ObservedNode, from: bigint): bigint {
  if (from <= number) return from
  return number > BLOCKS_BEFORE_NEWEST ? number - BLOCKS_BEFORE_NEWEST : 0n
}

async function readUse(rpc: Rpc, nonce: NonceKey, range: BlockRange): Promise<EventLog | undefined> {
  const topics = [[USED, CANCELED], pad(nonce.payer), nonce.nonce]
  const logs = await readLogs(rpc, { address: nonce.asset, topics }, range)
  return logs.find((log) => isLogOf(log, nonce, USED) || isLogOf(log, nonce, CANCELED))
}

/** Undefined if the node has no such transaction in a block. */
async function readReceipt({ rpc }: ObservedNode, transaction: string) {
  const receipt = receiptSchema.nullable().parse(await rpc('eth_getTransactionReceipt', [transaction]))
  return receipt?.transactionHash === transaction ? receipt : undefined
}

/** Reads the transfer of this nonce from a transaction. Unclear if the transaction has none. */
async function readTransfer(node: ObservedNode, nonce: NonceKey, transaction: string): Promise<NonceUse> {
  const receipt = await readReceipt(node, transaction)
  if (receipt?.status !== 1n) return UNCLEAR
  const use = receipt.logs.find((log) => isLogOf(log, nonce, USED))
  // The token logs the transfer directly after the use. Other transfers in the transaction are unrelated.
  const next = receipt.logs.find((log) => use && log.logIndex === use.logIndex + 1n)
  const transfer = next && parseTransfer(next, nonce.asset)
  if (!transfer) return UNCLEAR
  return { nonce: 'used', transfer, isFinal: await isFinal(node, receipt) }
}

async function findTransfers(node: ObservedNode, queries: readonly PaymentQuery[]): Promise<(UseReader | undefined)[]> {
  const found = await node.transfers.find(node.rpc, queries)
  const finality = new Map<string, Promise<boolean>>()
  return queries.map((query) => {
    const use = found.get(keyOf(query))
    return (
      use &&
      (async () => {
        const { transfer, block } = use
        const read = finality.get(block.blockHash) ?? isFinal(node, block)
        finality.set(block.blockHash, read)
        return { nonce: 'used', transfer, isFinal: await read }
      })
    )
  })
}

/** Whether a block is final: not above the final block, and still the block at its height. */
async function isFinal(
  { rpc, newest: { final } }: ObservedNode,
  { blockNumber, blockHash }: { blockNumber: bigint; blockHash: string },
): Promise<boolean> {
  if (!final || blockNumber > final.number) return false
  return (await readBlock(rpc, blockNumber)).hash === blockHash
}
