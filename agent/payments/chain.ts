/** Reads the state of an EIP-3009 authorization from the chain. Nothing else may decide a payment with unknown outcome. */
import { concat, numberToHex, pad, toEventSelector, toFunctionSelector, type Hex } from 'viem'
import { z } from 'zod'
import type { TransferAuthorization } from './headers.ts'
import { checkChainId, onChain, openRpc, RpcError, WrongChain, type Rpc } from '../rpc/json-rpc.ts'
import { openObserver, type Observer } from '../chain/observe.ts'
import { RangeSearch, type BlockRange } from './range-search.ts'
import { ACCEPTED_SECONDS_MAX, FINAL_CONFIRMATIONS_DEFAULT } from './terms.ts'

/** For one call, including the body of the reply. Short, because a client that retries waits for several calls. */
const RPC_TIMEOUT_MS = 5_000

/** Blocks that are searched if the recorded first block is above the newest one. */
const BLOCKS_BEFORE_NEWEST = 999n
/** How much earlier than needed a search by time may begin: the first range of a search (`range-search.ts`). */
const BLOCKS_TOO_EARLY_MAX = 1_000n
/** The local clock can differ this much from the chain, as in `retention.ts`. */
const CLOCK_DIFFERENCE_SECONDS_MAX = 600

const STATE = toFunctionSelector('authorizationState(address,bytes32)')
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

export type AuthorizationEvidence =
  /**
   * The nonce is free in the newest block, whose timestamp in seconds is `time`. `finalTime` is the timestamp of the
   * newest final block. It is not read before `validBefore` and is 0 then.
   */
  | { nonce: 'free'; time: bigint; finalTime: bigint }
  /** The nonce was used by this transfer, which is logged directly after `AuthorizationUsed`. */
  | { nonce: 'used'; transfer: Transfer; isFinal: boolean }
  | { nonce: 'cancelled'; isFinal: boolean }
  /** The nonce was used or cancelled, but no matching log was found. */
  | { nonce: 'unclear' }

const UNCLEAR: AuthorizationEvidence = { nonce: 'unclear' }

interface AuthorizationQuery {
  asset: string
  authorization: TransferAuthorization
}

/** The recorded facts about a payment, before its evidence is read. */
export interface EvidenceQuery extends AuthorizationQuery {
  /** No event of the payment is in an older block. Without a record, the block follows from `validBefore`. */
  fromBlock?: bigint | undefined
  /** The hash of that block, recorded before the settlement. A node with another one belongs to another chain. */
  fromBlockHash?: string | undefined
  /** The transaction that a facilitator reported, which need not exist. */
  transaction?: string | undefined
}

/** How far the chain has come. */
export interface ChainProgress {
  /** The timestamp of the newest block, in seconds. */
  time: bigint
  /** The number of the newest final block. */
  finalBlock: bigint
}

export interface Chain extends Observer {
  /** Reads the newest and the final block. Throws if the chain cannot be read, or if one of these blocks belongs to another chain. */
  progress(): Promise<ChainProgress>
  /** Throws if the chain cannot be read, or if it is not the chain of the payment. */
  evidence(query: EvidenceQuery): Promise<AuthorizationEvidence>
}

const hash = z.string().regex(/^0x[0-9a-f]{64}$/)
const hexNumber = z
  .string()
  .regex(/^0x[0-9a-f]{1,64}$/, { abort: true })
  .transform((text) => BigInt(text))
/** An ABI-encoded boolean. An address without code returns empty data, which is invalid. */
const flag = z
  .string()
  .regex(/^0x0{63}[01]$/, { abort: true })
  .transform((text) => text.endsWith('1'))

const blockSchema = z.object({ number: hexNumber, hash, timestamp: hexNumber })
type BlockHeader = z.infer<typeof blockSchema>
type BlockId = Pick<BlockHeader, 'number' | 'hash'>

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
  now: () => Date
  pause?: (milliseconds: number) => Promise<unknown>
  finalConfirmations?: number
  /** Unfinished searches of logs that are kept in memory. */
  searchesMax?: number
}

/** The node and its known limits. */
interface Node {
  rpc: Rpc
  finalConfirmations: bigint
  search: RangeSearch
}

/** What one reading of evidence uses. When it ends, the newest block and the final block are checked. */
interface Reading extends Node {
  newest: BlockHeader
  /** Reads the newest final block. */
  finalBlock: () => Promise<BlockHeader>
}

/** Opens no connection before the first call, and reads from no other chain than `chainId`. */
export function openChain({
  urls,
  timeoutMs = RPC_TIMEOUT_MS,
  ...options
}: ChainOptions & { urls: readonly string[]; timeoutMs?: number }): Chain {
  const nodes = urls.map((url) => openRpc({ url, timeoutMs }))
  return readChainWith(nodes, options)
}

export function readChainWith(nodes: readonly Rpc[], options: ChainOptions): Chain {
  const { chainId, finalConfirmations = FINAL_CONFIRMATIONS_DEFAULT, searchesMax } = options
  const [unchecked] = nodes
  if (!unchecked) throw new Error('A chain needs a node')
  const rpc = onChain(unchecked, chainId)
  const node = { rpc, finalConfirmations: BigInt(finalConfirmations), search: new RangeSearch(searchesMax) }
  return {
    ...openObserver(nodes, options),
    async progress() {
      const [newest, final] = await Promise.all([blockAt(rpc, 'latest'), readFinalBlock(node)])
      await checkChain(unchecked, chainId, [newest, final])
      return { time: newest.timestamp, finalBlock: final.number }
    },
    async evidence(query) {
      const newest = await blockAt(rpc, 'latest')
      const read = [newest]
      const finalBlock = async () => {
        const final = await readFinalBlock(node)
        read.push(final)
        return final
      }
      const evidence = await readEvidence({ ...node, newest, finalBlock }, query)
      await checkChain(unchecked, chainId, [...read, ...recordedBlocks(query)])
      return evidence
    },
  }
}

async function readEvidence(reading: Reading, query: EvidenceQuery): Promise<AuthorizationEvidence> {
  const { rpc, newest } = reading
  const { fromBlock, transaction } = query
  const nonce = toNonceKey(query)
  // By block hash: a load balancer may forward the next call to a node that lags or that has another block.
  const isUsed = await isSpent(rpc, nonce, { blockHash: newest.hash })
  const reported = transaction === undefined ? UNCLEAR : await readTransfer(reading, nonce, transaction)
  // A node that has the receipt of a transfer and does not show the transfer lags behind or contradicts itself.
  if (!isUsed && reported.nonce === 'used') return UNCLEAR
  if (!isUsed) return { nonce: 'free', time: newest.timestamp, finalTime: await readFinalTime(reading, query) }
  if (reported.nonce === 'used') return reported
  const from = fromBlock ?? (await blockBefore(rpc, firstSettlementTime(query), newest))
  return readSpent(reading, nonce, from)
}

/** The earliest time at which the service can have settled the payment: it accepts a payment shortly before `validBefore`. */
function firstSettlementTime({ authorization: { validBefore } }: AuthorizationQuery): bigint {
  return BigInt(validBefore) - BigInt(ACCEPTED_SECONDS_MAX + CLOCK_DIFFERENCE_SECONDS_MAX)
}

/**
 * The newest multiple of `BLOCKS_TOO_EARLY_MAX` that is older than this time in seconds. Reads about 15 blocks on Base. It
 * does not depend on the newest block, so that an unfinished search continues at the next reading.
 */
async function blockBefore(rpc: Rpc, time: bigint, newest: BlockHeader): Promise<bigint> {
  let low = 0n
  let high = newest.number / BLOCKS_TOO_EARLY_MAX + 1n
  while (high - low > 1n) {
    const middle = (low + high) / 2n
    if ((await blockAt(rpc, numberToHex(middle * BLOCKS_TOO_EARLY_MAX))).timestamp < time) low = middle
    else high = middle
  }
  return low * BLOCKS_TOO_EARLY_MAX
}

/** The block that was recorded before the settlement, if any. It identifies the chain of the payment. */
function recordedBlocks({ fromBlock, fromBlockHash }: EvidenceQuery): BlockId[] {
  return fromBlock === undefined || fromBlockHash === undefined ? [] : [{ number: fromBlock, hash: fromBlockHash }]
}

/**
 * Throws unless the node has this chain id and these blocks. A reading calls it last, with the blocks that it used, because some of
 * its replies may have come from a node of another chain.
 */
async function checkChain(rpc: Rpc, chainId: number, blocks: readonly BlockId[]): Promise<void> {
  await checkChainId(rpc, chainId)
  for (const { number, hash: expected } of blocks)
    if ((await blockAt(rpc, numberToHex(number))).hash !== expected) throw new WrongChain()
}

/** A nonce that is free in the newest block is also free in the final block, whose state some nodes no longer have. */
async function readFinalTime({ newest, finalBlock }: Reading, { authorization }: AuthorizationQuery): Promise<bigint> {
  if (newest.timestamp < BigInt(authorization.validBefore)) return 0n
  const final = await finalBlock()
  return final.number <= newest.number ? final.timestamp : 0n
}

interface NonceKey {
  token: string
  from: Hex
  nonce: Hex
}

function toNonceKey({ asset, authorization: { from, nonce } }: AuthorizationQuery): NonceKey {
  return { token: asset.toLowerCase(), from: from.toLowerCase() as Hex, nonce: nonce.toLowerCase() as Hex }
}

async function isSpent(rpc: Rpc, { token, from, nonce }: NonceKey, at: 'latest' | { blockHash: string }) {
  const data = concat([STATE, pad(from), nonce])
  return flag.parse(await rpc('eth_call', [{ to: token, data }, at]))
}

async function blockAt(rpc: Rpc, at: string): Promise<BlockHeader> {
  return blockSchema.parse(await rpc('eth_getBlockByNumber', [at, false]))
}

async function readSpent(reading: Reading, nonce: NonceKey, fromBlock: bigint): Promise<AuthorizationEvidence> {
  const { rpc, search, newest } = reading
  const log = await search.find({
    key: `${nonce.token}/${nonce.from}/${nonce.nonce}`,
    from: fromBlock <= newest.number ? fromBlock : blocksBefore(newest.number, BLOCKS_BEFORE_NEWEST),
    to: newest.number,
    read: async (range) => (await readLogs(rpc, nonce, range))[0],
  })
  if (!log) return UNCLEAR
  if (log.topics[0] === CANCELED) return { nonce: 'cancelled', isFinal: await isFinal(reading, log) }
  return readTransfer(reading, nonce, log.transactionHash)
}

/** Reads the logs of the use or cancellation of this nonce. Ignores unrelated logs that the node may return. */
async function readLogs(rpc: Rpc, nonce: NonceKey, { from, to }: BlockRange): Promise<EventLog[]> {
  const range = { fromBlock: numberToHex(from), toBlock: numberToHex(to) }
  const filter = { address: nonce.token, topics: [[USED, CANCELED], pad(nonce.from), nonce.nonce], ...range }
  const logs = z.array(logSchema).parse(await rpc('eth_getLogs', [filter]))
  return logs.filter((log) => log.removed !== true && (isLogOf(log, nonce, USED) || isLogOf(log, nonce, CANCELED)))
}

function isLogOf({ address, topics }: EventLog, { token, from, nonce }: NonceKey, event: Hex): boolean {
  return address.toLowerCase() === token && topics[0] === event && topics[1] === pad(from) && topics[2] === nonce
}

/** Reads the transfer of this nonce from a transaction. Unclear if the transaction has none. */
async function readTransfer(reading: Reading, nonce: NonceKey, transaction: string): Promise<AuthorizationEvidence> {
  const receipt = receiptSchema.nullable().parse(await reading.rpc('eth_getTransactionReceipt', [transaction]))
  if (receipt?.status !== 1n || receipt.transactionHash !== transaction) return UNCLEAR
  const use = receipt.logs.find((log) => isLogOf(log, nonce, USED))
  // The token logs the transfer directly after the use. Other transfers in the transaction are unrelated.
  const next = receipt.logs.find((log) => use && log.logIndex === use.logIndex + 1n)
  const transfer = next && parseTransfer(next, nonce)
  if (!transfer) return UNCLEAR
  return { nonce: 'used', transfer, isFinal: await isFinal(reading, receipt) }
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
  { rpc, finalBlock }: Reading,
  { blockNumber, blockHash }: { blockNumber: bigint; blockHash: string },
) {
  const final = await finalBlock()
  if (blockNumber > final.number) return false
  return (await blockAt(rpc, numberToHex(blockNumber))).hash === blockHash
}

/** The newest final block. A node without the tag `finalized` returns an error or `null`: its confirmations are counted. */
async function readFinalBlock({ rpc, finalConfirmations }: Node): Promise<BlockHeader> {
  const tagged = await rpc('eth_getBlockByNumber', ['finalized', false]).catch((cause: unknown) => {
    if (cause instanceof RpcError) return null
    throw cause
  })
  if (tagged !== null) return blockSchema.parse(tagged)
  const newest = await blockAt(rpc, 'latest')
  return blockAt(rpc, numberToHex(blocksBefore(newest.number, finalConfirmations)))
}

function blocksBefore(number: bigint, count: bigint): bigint {
  return number > count ? number - count : 0n
}
