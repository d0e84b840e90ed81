/**
 * Reads an agent's identity, or a page of one client's feedback, from the chain. All calls of one read use one block,
 * by its hash: after a reorganisation the node then returns an error instead of data of another block.
 */
import {
  BaseError,
  ContractFunctionRevertedError,
  createClient,
  custom,
  encodeErrorResult,
  hexToBytes,
  parseAbi,
  zeroAddress,
  type Address,
  type ContractFunctionReturnType,
  type Hex,
  type MulticallParameters,
} from 'viem'
import { multicall } from 'viem/actions'
import { isTimeout } from '../../base/deadline.ts'
import { replaceInvisible } from '../../base/hidden.ts'
import { readBlock } from '../../agent/settlement/chain/blocks.ts'
import { isOld, toMs } from '../../agent/settlement/chain/clock.ts'
import type { Chain } from '../../agent/settlement/chain/chain.ts'
import { MULTICALL } from '../../agent/settlement/chain/multicall.ts'
import { RpcError, type Rpc } from '../../agent/settlement/rpc/json-rpc.ts'
import { ReplyError } from '../../agent/settlement/rpc/post-json.ts'

/** The ERC-8004 registries, at the same addresses on every test network. */
export const REGISTRIES: { identity: Address; reputation: Address } = {
  identity: '0x8004A818BFB912233c491871b3d84c89A494BD9e',
  reputation: '0x8004B663056A597Dffe9eCcC1965A193B7388713',
}

/**
 * Excludes functions that read all clients or all responders: anyone can make their results grow without bound. Strings
 * are declared as bytes, which have the same encoding: string decoders replace invalid UTF-8.
 */
export const REGISTRY_ABI = parseAbi([
  'function ownerOf(uint256 agentId) view returns (address)',
  'function tokenURI(uint256 agentId) view returns (bytes)',
  'function getAgentWallet(uint256 agentId) view returns (address)',
  'error ERC721NonexistentToken(uint256 tokenId)',
  'function getIdentityRegistry() view returns (address)',
  'function getLastIndex(uint256 agentId, address clientAddress) view returns (uint64)',
  'function readFeedback(uint256 agentId, address clientAddress, uint64 feedbackIndex) view returns (int128 value, uint8 valueDecimals, bytes tag1, bytes tag2, bool isRevoked)',
])

const URI_CODE_POINTS_MAX = 2_048
const TAG_CODE_POINTS_MAX = 256
/** The bounds in ERC-8004. */
const DECIMALS_MAX = 18
const VALUE_MAX = 10n ** 38n
/** For invisible characters. The decoder inserts the same character for invalid UTF-8. */
const REPLACEMENT = '\uFFFD'

interface FeedbackQuery {
  /** With EIP-55 checksum. */
  client: Address
  /** Indexes on chain start at 1. */
  start: number
  limit: number
}

interface RegistryReaderOptions {
  chain: Pick<Chain, 'read'>
  agentId: bigint
  now: () => Date
}

const identity = { address: REGISTRIES.identity, abi: REGISTRY_ABI } as const
const reputation = { address: REGISTRIES.reputation, abi: REGISTRY_ABI } as const

export function readIdentity({ chain, agentId, now }: RegistryReaderOptions, signal: AbortSignal) {
  return chain.read((rpc) => readIdentityFrom(rpc, agentId, now), signal)
}

async function readIdentityFrom(rpc: Rpc, agentId: bigint, now: () => Date) {
  const { checked, read } = await openHead(rpc, now)
  const [linked, ownerReply, uriReply, walletReply] = await read([
    { ...reputation, functionName: 'getIdentityRegistry' },
    { ...identity, functionName: 'ownerOf', args: [agentId] },
    { ...identity, functionName: 'tokenURI', args: [agentId] },
    { ...identity, functionName: 'getAgentWallet', args: [agentId] },
  ])
  if (resultOf(linked) !== REGISTRIES.identity) throw new ReplyError('REGISTRIES_NOT_LINKED')
  if (isUnknownAgent(ownerReply, agentId)) return { status: 'not_found' as const, agent: undefined, checked }
  const wallet = resultOf(walletReply)
  const agent = {
    owner: resultOf(ownerReply),
    /** Null if none is set. */
    wallet: wallet === zeroAddress ? null : wallet,
    uri: sanitizeText(resultOf(uriReply), URI_CODE_POINTS_MAX).text,
  }
  return { status: 'registered' as const, agent, checked }
}

export function readPage({ chain, agentId, now }: RegistryReaderOptions, query: FeedbackQuery, signal: AbortSignal) {
  return chain.read((rpc) => readPageFrom(rpc, { agentId, now, ...query }), signal)
}

async function readPageFrom(
  rpc: Rpc,
  { agentId, now, client, start, limit }: Omit<RegistryReaderOptions, 'chain'> & FeedbackQuery,
) {
  const { checked, read } = await openHead(rpc, now)
  const [lastReply] = await read([{ ...reputation, functionName: 'getLastIndex', args: [agentId, client] }])
  const lastIndex = Number(resultOf(lastReply))
  if (!Number.isSafeInteger(lastIndex)) throw new ReplyError('BAD_DATA')
  const count = Math.max(0, Math.min(limit, lastIndex - start + 1))
  const replies = await read(
    Array.from({ length: count }, (_, at) => {
      return { ...reputation, functionName: 'readFeedback', args: [agentId, client, BigInt(start + at)] } as const
    }),
  )
  return { checked, lastIndex, feedback: replies.map((reply, at) => toFeedback(start + at, resultOf(reply))) }
}

/** Without a configured agent, the chain is not read. */
export const NOT_REGISTERED = {
  status: 'not_registered',
  agent: undefined,
  checked: { block: null, checked_at: null },
} as const

export type RegistryIdentity = Awaited<ReturnType<typeof readIdentity>> | typeof NOT_REGISTERED

type Feedback = ContractFunctionReturnType<typeof REGISTRY_ABI, 'view', 'readFeedback'>

/** `value` is decimal text, because values have up to 128 bits. */
function toFeedback(index: number, [value, decimals, first, second, revoked]: Feedback) {
  if (decimals > DECIMALS_MAX || value > VALUE_MAX || value < -VALUE_MAX) throw new ReplyError('BAD_DATA')
  const tag1 = sanitizeText(first, TAG_CODE_POINTS_MAX)
  const tag2 = sanitizeText(second, TAG_CODE_POINTS_MAX)
  const tags = { tag1: tag1.text, tag2: tag2.text, tags_altered: tag1.altered || tag2.altered }
  return { index, value: String(value), value_decimals: decimals, ...tags, revoked }
}

/** The newest block, and a function that makes some calls at it in one request. */
async function openHead(rpc: Rpc, now: () => Date) {
  const { number, hash: blockHash, timestamp } = await readBlock(rpc, 'latest')
  const time = new Date(toMs(timestamp))
  if (isOld(timestamp, now())) throw new ReplyError('OLD_BLOCK')
  const request = ({ method, params }: { method: string; params?: unknown[] }) => rpc(method, params)
  const client = createClient({ transport: custom({ request }, { retryCount: 0 }) })
  return {
    checked: {
      block: { number: Number(number), hash: blockHash, timestamp: time.toISOString() },
      checked_at: now().toISOString(),
    },
    read: <const Calls extends readonly unknown[]>(contracts: MulticallParameters<Calls>['contracts']) =>
      multicall<Calls, undefined>(client, {
        contracts,
        blockHash: blockHash as Hex,
        requireCanonical: true,
        multicallAddress: MULTICALL,
        batchSize: 0,
      }),
  }
}

type Reply<Result> = { status: 'success'; result: Result } | { status: 'failure'; error: Error }

function isUnknownAgent(reply: Reply<unknown>, agentId: bigint): boolean {
  if (reply.status !== 'failure' || !(reply.error instanceof BaseError)) return false
  const expected = encodeErrorResult({ abi: REGISTRY_ABI, errorName: 'ERC721NonexistentToken', args: [agentId] })
  const revert = reply.error.walk((cause) => cause instanceof ContractFunctionRevertedError)
  return revert instanceof ContractFunctionRevertedError && revert.raw === expected
}

/** @throws the error of the request to the node, or a ReplyError if the node refused only this call */
function resultOf<Result>(reply: Reply<Result>): Result {
  if (reply.status === 'success') return reply.result
  const isOfRequest = (cause: unknown) => cause instanceof ReplyError || cause instanceof RpcError || isTimeout(cause)
  throw (reply.error instanceof BaseError && reply.error.walk(isOfRequest)) || new ReplyError('CALL_REFUSED')
}

/**
 * Makes text from the chain, which anyone may write, safe to display. `altered` if it may differ from the text on
 * chain.
 */
function sanitizeText(bytes: Hex, codePointsMax: number) {
  // Without ignoreBOM the decoder drops a byte order mark.
  const whole = new TextDecoder('utf-8', { ignoreBOM: true }).decode(hexToBytes(bytes))
  const text = replaceInvisible(Array.from(whole).slice(0, codePointsMax).join(''), () => REPLACEMENT)
  return { text, altered: text !== whole || whole.includes(REPLACEMENT) }
}
