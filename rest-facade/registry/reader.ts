/**
 * Reads an agent's identity, or a page of one client's feedback, from the chain. All calls of one read use one block,
 * by its hash: after a reorganisation the node then returns an error instead of data of another block.
 */
import {
  decodeAbiParameters,
  encodeFunctionData,
  hexToBytes,
  zeroAddress,
  type AbiParameter,
  type Address,
  type DecodeAbiParametersReturnType,
  type Hex,
} from 'viem'
import * as z from 'zod'
import { replaceInvisible } from '../../store/base/hidden.ts'
import type { openRpcBatch } from '../../agent/settlement/rpc/json-rpc.ts'
import { noSuchAgent, OUT_OF_BOUNDS, REGISTRIES, REGISTRY_ABI, RETURNS } from './contracts.ts'

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
  /** The expected URI of the agent. */
  agentUri: string
  now: () => Date
}

/** Why a registry could not be read, as a code for the log. */
class RegistryError extends Error {
  override name = 'RegistryError'
  readonly code: string

  constructor(code: string) {
    super(code)
    this.code = code
  }
}

export async function readIdentity(options: RegistryReaderOptions, signal: AbortSignal) {
  const { agentId, agentUri } = options
  const agentCall = { abi: REGISTRY_ABI, args: [agentId] } as const
  const { checked, replies } = await callAtHead(options, signal, [
    [REGISTRIES.reputation, encodeFunctionData({ abi: REGISTRY_ABI, functionName: 'getIdentityRegistry' })],
    [REGISTRIES.identity, encodeFunctionData({ ...agentCall, functionName: 'ownerOf' })],
    [REGISTRIES.identity, encodeFunctionData({ ...agentCall, functionName: 'tokenURI' })],
    [REGISTRIES.identity, encodeFunctionData({ ...agentCall, functionName: 'getAgentWallet' })],
  ])
  const [registryReply, ownerReply, uriReply, walletReply] = replies
  if (decode(RETURNS.address, registryReply)[0] !== REGISTRIES.identity)
    throw new RegistryError('REGISTRIES_NOT_LINKED')
  if (isRevert(ownerReply, noSuchAgent(agentId))) return { status: 'not_found' as const, checked }
  const [owner] = decode(RETURNS.address, ownerReply)
  const [uri] = decode(RETURNS.text, uriReply)
  const [wallet] = decode(RETURNS.address, walletReply)
  return {
    status: 'registered' as const,
    agent: {
      owner,
      /** Null if none is set. */
      wallet: wallet === zeroAddress ? null : wallet,
      uri: sanitizeText(uri, URI_CODE_POINTS_MAX).text,
      /** Whether the URI on chain has exactly the expected bytes. */
      isUriExpected: uri === `0x${Buffer.from(agentUri).toString('hex')}`,
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
  const last = encodeFunctionData({ abi: REGISTRY_ABI, functionName: 'getLastIndex', args: [agentId, client] })
  const reads = indexes.map((index) =>
    encodeFunctionData({ abi: REGISTRY_ABI, functionName: 'readFeedback', args: [agentId, client, BigInt(index)] }),
  )
  const calls = [last, ...reads].map((data): Target => [REGISTRIES.reputation, data])
  const { checked, replies } = await callAtHead(options, signal, calls)
  const [lastReply, ...feedbackReplies] = replies
  const lastIndex = Number(decode(RETURNS.index, lastReply)[0])
  if (!Number.isSafeInteger(lastIndex)) throw new RegistryError('BAD_DATA')
  const feedback = indexes.flatMap((index, position) => {
    const reply = feedbackReplies[position]
    // `getLastIndex` and `readFeedback` must agree on the last index.
    if (isRevert(reply, OUT_OF_BOUNDS) !== index > lastIndex) throw new RegistryError('INCONSISTENT')
    return index > lastIndex ? [] : [toFeedback(index, reply)]
  })
  return { checked, lastIndex, feedback }
}

/** `value` is decimal text, because values have up to 128 bits. */
function toFeedback(index: number, reply: RpcReply | undefined) {
  const [value, decimals, first, second, revoked] = decode(RETURNS.feedback, reply)
  if (decimals > DECIMALS_MAX || value > VALUE_MAX || value < -VALUE_MAX) throw new RegistryError('BAD_DATA')
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
  const chain = quantitySchema.safeParse(id)
  const block = headSchema.safeParse(latest)
  if (!chain.success || !block.success) throw new RegistryError('NO_BLOCK')
  if (chain.data !== chainId) throw new RegistryError('WRONG_CHAIN')
  const { number, hash, timestamp } = block.data
  if (now().getTime() - timestamp * 1000 > BLOCK_AGE_MS_MAX) throw new RegistryError('OLD_BLOCK')
  const at = { blockHash: hash, requireCanonical: true }
  const calls = targets.map(([to, data]) => ({ method: 'eth_call', params: [{ to, data }, at] }))
  const replies = await callAll(calls, signal)
  const time = new Date(timestamp * 1000).toISOString()
  return { checked: { block: { number, hash, timestamp: time }, checked_at: now().toISOString() }, replies }
}

const quantitySchema = z
  .string()
  .regex(/^0x(0|[1-9a-f][0-9a-f]{0,12})$/)
  .transform(Number)

const headSchema = z.object({
  number: quantitySchema,
  hash: z.custom<Hex>((value) => typeof value === 'string' && /^0x[0-9a-f]{64}$/.test(value)),
  timestamp: quantitySchema.refine((seconds) => !Number.isNaN(new Date(seconds * 1000).getTime())),
})

function isRevert(reply: RpcReply | undefined, expected: Hex): boolean {
  return reply?.kind === 'error' && reply.error.data === expected
}

function decode<const Types extends readonly AbiParameter[]>(
  types: Types,
  reply: RpcReply | undefined,
): DecodeAbiParametersReturnType<Types> {
  if (reply?.kind !== 'result') throw new RegistryError('CALL_REFUSED')
  try {
    return decodeAbiParameters(types, reply.result as Hex)
  } catch {
    throw new RegistryError('BAD_DATA')
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
