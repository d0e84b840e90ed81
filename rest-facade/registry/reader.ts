/**
 * Reads an agent's identity, or a page of one client's feedback, from the chain. All calls of one read use one block,
 * by its hash: after a reorganisation the node then returns an error instead of data of another block.
 */
import {
  decodeFunctionResult,
  encodeFunctionData,
  hexToBytes,
  stringToHex,
  zeroAddress,
  type Abi,
  type Address,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  type Hex,
} from 'viem'
import * as z from 'zod'
import { replaceInvisible } from '../../store/base/hidden.ts'
import { hash, hexNumber } from '../../agent/settlement/chain/blocks.ts'
import type { openRpcBatch } from '../../agent/settlement/rpc/json-rpc.ts'
import { ReplyError } from '../../agent/settlement/rpc/post-json.ts'
import { noSuchAgent, OUT_OF_BOUNDS, REGISTRIES, REGISTRY_ABI } from './contracts.ts'

/** A read fails if the newest block is older, because the node then lags behind. */
const BLOCK_AGE_MS_MAX = 5 * 60_000
const URI_CODE_POINTS_MAX = 2_048
const TAG_CODE_POINTS_MAX = 256
/** The bounds in ERC-8004. */
const DECIMALS_MAX = 18
const VALUE_MAX = 10n ** 38n
/** For invisible characters. The decoder inserts the same character for invalid UTF-8. */
const REPLACEMENT = '\uFFFD'

export interface FeedbackQuery {
  /** With EIP-55 checksum. */
  client: Address
  /** Indexes on chain start at 1. */
  start: number
  limit: number
}

type RpcReply = Awaited<ReturnType<ReturnType<typeof openRpcBatch>>>[number]

interface RegistryReaderOptions {
  callAll: ReturnType<typeof openRpcBatch>
  chainId: number
  agentId: bigint
  agentUri: string
  now: () => Date
}

export async function readIdentity(options: RegistryReaderOptions, signal: AbortSignal) {
  const { agentId, agentUri } = options
  const { checked, replies } = await callAtHead(options, signal, [
    [REGISTRIES.reputation, encode('getIdentityRegistry', [])],
    [REGISTRIES.identity, encode('ownerOf', [agentId])],
    [REGISTRIES.identity, encode('tokenURI', [agentId])],
    [REGISTRIES.identity, encode('getAgentWallet', [agentId])],
  ])
  const [registryReply, ownerReply, uriReply, walletReply] = replies
  if (decode('getIdentityRegistry', registryReply) !== REGISTRIES.identity)
    throw new ReplyError('REGISTRIES_NOT_LINKED')
  if (isRevert(ownerReply, noSuchAgent(agentId))) return { status: 'not_found' as const, agent: undefined, checked }
  const owner = decode('ownerOf', ownerReply)
  const uri = decode('tokenURI', uriReply)
  const wallet = decode('getAgentWallet', walletReply)
  return {
    status: 'registered' as const,
    agent: {
      owner,
      /** Null if none is set. */
      wallet: wallet === zeroAddress ? null : wallet,
      uri: sanitizeText(uri, URI_CODE_POINTS_MAX).text,
      /** Whether the URI on chain has exactly the expected bytes. */
      isUriExpected: uri === stringToHex(agentUri),
    },
    checked,
  }
}

export async function readPage(
  options: RegistryReaderOptions,
  { client, start, limit }: FeedbackQuery,
  signal: AbortSignal,
) {
  const { agentId } = options
  const indexes = Array.from({ length: limit }, (_, offset) => start + offset)
  const reads = indexes.map((index) => encode('readFeedback', [agentId, client, BigInt(index)]))
  const calls = [encode('getLastIndex', [agentId, client]), ...reads]
  const targets = calls.map((data): Target => [REGISTRIES.reputation, data])
  const { checked, replies } = await callAtHead(options, signal, targets)
  const [lastReply, ...feedbackReplies] = replies
  const lastIndex = Number(decode('getLastIndex', lastReply))
  if (!Number.isSafeInteger(lastIndex)) throw new ReplyError('BAD_DATA')
  const feedback = indexes.flatMap((index, position) => {
    const reply = feedbackReplies[position]
    // `getLastIndex` and `readFeedback` must agree on the last index.
    if (isRevert(reply, OUT_OF_BOUNDS) !== index > lastIndex) throw new ReplyError('INCONSISTENT')
    return index > lastIndex ? [] : [toFeedback(index, reply)]
  })
  return { checked, lastIndex, feedback }
}

/** `value` is decimal text, because values have up to 128 bits. */
function toFeedback(index: number, reply: RpcReply | undefined) {
  const [value, decimals, first, second, revoked] = decode('readFeedback', reply)
  if (decimals > DECIMALS_MAX || value > VALUE_MAX || value < -VALUE_MAX) throw new ReplyError('BAD_DATA')
  const tag1 = sanitizeText(first, TAG_CODE_POINTS_MAX)
  const tag2 = sanitizeText(second, TAG_CODE_POINTS_MAX)
  const tags = { tag1: tag1.text, tag2: tag2.text, tags_altered: tag1.altered || tag2.altered }
  return { index, value: String(value), value_decimals: decimals, ...tags, revoked }
}

type Target = readonly [to: Address, data: Hex]

/** Two batches: chain id and newest block, then all calls at that block. */
async function callAtHead({ callAll, chainId, now }: RegistryReaderOptions, signal: AbortSignal, targets: Target[]) {
  const head = [
    { method: 'eth_chainId', params: [] },
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
  ]
  const [id, latest] = (await callAll(head, signal)).map((reply) =>
    reply.kind === 'result' ? reply.result : undefined,
  )
  const chain = hexNumber.safeParse(id)
  const block = blockSchema.safeParse(latest)
  if (!chain.success || !block.success) throw new ReplyError('NO_BLOCK')
  if (chain.data !== BigInt(chainId)) throw new ReplyError('WRONG_CHAIN')
  const { number, hash: blockHash, timestamp } = block.data
  if (now().getTime() - timestamp.getTime() > BLOCK_AGE_MS_MAX) throw new ReplyError('OLD_BLOCK')
  const at = { blockHash, requireCanonical: true }
  const calls = targets.map(([to, data]) => ({ method: 'eth_call', params: [{ to, data }, at] }))
  const replies = await callAll(calls, signal)
  const read = { number: Number(number), hash: blockHash, timestamp: timestamp.toISOString() }
  return { checked: { block: read, checked_at: now().toISOString() }, replies }
}

const blockSchema = z.object({
  number: hexNumber,
  hash,
  timestamp: hexNumber.transform((seconds) => new Date(Number(seconds) * 1000)).pipe(z.date()),
})

function isRevert(reply: RpcReply | undefined, expected: Hex): boolean {
  return reply?.kind === 'error' && reply.error.data === expected
}

/** Without the types of its functions. */
const ABI: Abi = REGISTRY_ABI

type FunctionName = ContractFunctionName<typeof REGISTRY_ABI, 'view'>
type Decoded<Name extends FunctionName> = ContractFunctionReturnType<typeof REGISTRY_ABI, 'view', Name>

const encode = (functionName: FunctionName, args: readonly unknown[]) =>
  encodeFunctionData({ abi: ABI, functionName, args })

function decode<Name extends FunctionName>(functionName: Name, reply: RpcReply | undefined): Decoded<Name> {
  if (reply?.kind !== 'result') throw new ReplyError('CALL_REFUSED')
  const call: { abi: Abi; functionName: string } = { abi: ABI, functionName }
  try {
    return decodeFunctionResult({ ...call, data: reply.result as Hex }) as Decoded<Name>
  } catch {
    throw new ReplyError('BAD_DATA')
  }
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
