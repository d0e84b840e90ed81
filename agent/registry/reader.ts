/**
 * Reads an agent's identity, or a page of one client's feedback, from the chain. All calls of one read use one block, by its
 * hash: after a reorganisation the node then returns an error instead of data of another block.
 */
import {
  decodeAbiParameters,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  zeroAddress,
  type AbiParameter,
  type Address,
  type DecodeAbiParametersReturnType,
  type Hex,
} from 'viem'
import { z } from 'zod'
import type { Timer } from '../../store/base/runtime.ts'
import { withDeadline } from '../rpc/deadline.ts'
import type { RpcBatch, RpcCall, RpcReply } from '../rpc/json-rpc.ts'
import { noSuchAgent, OUT_OF_BOUNDS, REGISTRIES, REGISTRY_ABI, RETURNS } from './contracts.ts'
import { RegistryError } from './errors.ts'
import { sanitizeText, type SanitizedText } from './untrusted.ts'

/** A read fails if the newest block is older, because the node then lags behind. */
const BLOCK_AGE_MS_MAX = 5 * 60_000
/** For one batch, including the body of the reply. */
const BATCH_MS_MAX = 2_500
const URI_CODE_POINTS_MAX = 2_048
const TAG_CODE_POINTS_MAX = 256
/** The bounds in ERC-8004. */
const DECIMALS_MAX = 18
const VALUE_MAX = 10n ** 38n

/** The block of all calls of one read. */
export interface PinnedBlock {
  number: number
  hash: Hex
  timestamp: string
}

export interface RegisteredAgent {
  owner: Address
  /** Null if none is set. */
  wallet: Address | null
  uri: SanitizedText
  /** Whether the URI on chain has exactly the expected bytes. */
  isUriExpected: boolean
}

interface IdentityResult {
  block: PinnedBlock
  /** Undefined if the registry has no agent with this id. */
  agent: RegisteredAgent | undefined
}

export interface FeedbackQuery {
  /** With EIP-55 checksum. */
  client: Address
  /** Indexes on chain start at 1. */
  start: number
  limit: number
}

export interface FeedbackPage {
  block: PinnedBlock
  lastIndex: number
  feedback: ReturnType<typeof toFeedback>[]
}

export interface RegistryReader {
  identity(signal: AbortSignal): Promise<IdentityResult>
  page(query: FeedbackQuery, signal: AbortSignal): Promise<FeedbackPage>
}

interface RegistryReaderOptions {
  batch: RpcBatch
  timer: Timer
  chainId: number
  agentId: bigint
  /** The expected URI of the agent. */
  agentUri: string
  now: () => Date
}

/** Each read returns a complete result or throws. */
export function openRegistryReader(options: RegistryReaderOptions): RegistryReader {
  return {
    identity: (signal) => readIdentity(options, signal),
    page: (query, signal) => readPage(options, query, signal),
  }
}

async function readIdentity(options: RegistryReaderOptions, signal: AbortSignal): Promise<IdentityResult> {
  const { agentId, agentUri } = options
  const agentCall = { abi: REGISTRY_ABI, args: [agentId] } as const
  const { block, replies } = await callAtHead(options, signal, [
    [REGISTRIES.reputation, encodeFunctionData({ abi: REGISTRY_ABI, functionName: 'getIdentityRegistry' })],
    [REGISTRIES.identity, encodeFunctionData({ ...agentCall, functionName: 'ownerOf' })],
    [REGISTRIES.identity, encodeFunctionData({ ...agentCall, functionName: 'tokenURI' })],
    [REGISTRIES.identity, encodeFunctionData({ ...agentCall, functionName: 'getAgentWallet' })],
  ])
  const [registryReply, ownerReply, uriReply, walletReply] = replies
  if (decode(RETURNS.address, registryReply)[0] !== REGISTRIES.identity)
    throw new RegistryError('REGISTRIES_NOT_LINKED')
  const isMissing = isRevert(ownerReply, noSuchAgent(agentId))
  if (isMissing !== isRevert(uriReply, noSuchAgent(agentId))) throw new RegistryError('INCONSISTENT')
  if (isMissing) return { block, agent: undefined }
  const [owner] = decode(RETURNS.address, ownerReply)
  if (owner === zeroAddress) throw new RegistryError('INCONSISTENT')
  const [uri] = decode(RETURNS.text, uriReply)
  const [wallet] = decode(RETURNS.address, walletReply)
  const agent = {
    owner,
    wallet: wallet === zeroAddress ? null : wallet,
    uri: sanitizeText(uri, URI_CODE_POINTS_MAX),
    isUriExpected: uri === `0x${Buffer.from(agentUri).toString('hex')}`,
  }
  return { block, agent }
}

async function readPage(
  options: RegistryReaderOptions,
  { client, start, limit }: FeedbackQuery,
  signal: AbortSignal,
): Promise<FeedbackPage> {
  const { agentId } = options
  const indexes = Array.from({ length: limit }, (_, offset) => start + offset)
  const last = encodeFunctionData({ abi: REGISTRY_ABI, functionName: 'getLastIndex', args: [agentId, client] })
  const reads = indexes.map((index) =>
    encodeFunctionData({ abi: REGISTRY_ABI, functionName: 'readFeedback', args: [agentId, client, BigInt(index)] }),
  )
  const calls = [last, ...reads].map((data): Target => [REGISTRIES.reputation, data])
  const { block, replies } = await callAtHead(options, signal, calls)
  const [lastReply, ...feedbackReplies] = replies
  const lastIndex = Number(decode(RETURNS.index, lastReply)[0])
  if (!Number.isSafeInteger(lastIndex)) throw new RegistryError('BAD_DATA')
  const feedback = indexes.flatMap((index, position) => {
    const reply = feedbackReplies[position]
    // `getLastIndex` and `readFeedback` must agree on the last index.
    if (isRevert(reply, OUT_OF_BOUNDS) !== index > lastIndex) throw new RegistryError('INCONSISTENT')
    return index > lastIndex ? [] : [toFeedback(index, reply)]
  })
  return { block, lastIndex, feedback }
}

/** `value` is decimal text, because values have up to 128 bits. */
function toFeedback(index: number, reply: RpcReply | undefined) {
  const [value, valueDecimals, first, second, revoked] = decode(RETURNS.feedback, reply)
  if (valueDecimals > DECIMALS_MAX || value > VALUE_MAX || value < -VALUE_MAX) throw new RegistryError('BAD_DATA')
  const tag1 = sanitizeText(first, TAG_CODE_POINTS_MAX)
  const tag2 = sanitizeText(second, TAG_CODE_POINTS_MAX)
  const tagsAltered = tag1.altered || tag2.altered
  return { index, value: String(value), valueDecimals, tag1: tag1.text, tag2: tag2.text, tagsAltered, revoked }
}

type Target = readonly [to: Address, data: Hex]

/** Two batches: chain id and newest block, then all calls at that block. */
async function callAtHead(options: RegistryReaderOptions, signal: AbortSignal, targets: Target[]) {
  const send = (calls: RpcCall[]) =>
    withDeadline({ timer: options.timer, milliseconds: BATCH_MS_MAX, signal }, (batchSignal) =>
      options.batch(calls, batchSignal),
    )
  const head = await send([
    { method: 'eth_chainId', params: [] },
    { method: 'eth_getBlockByNumber', params: ['latest', false] },
  ])
  const block = readHead(head, options)
  const at = { blockHash: block.hash, requireCanonical: true }
  const replies = await send(targets.map(([to, data]) => ({ method: 'eth_call', params: [{ to, data }, at] })))
  return { block, replies }
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

function readHead(
  [id, latest]: RpcReply[],
  { chainId, now }: Pick<RegistryReaderOptions, 'chainId' | 'now'>,
): PinnedBlock {
  const chain = quantitySchema.safeParse(toResult(id))
  const head = headSchema.safeParse(toResult(latest))
  if (!chain.success || !head.success) throw new RegistryError('NO_BLOCK')
  if (chain.data !== chainId) throw new RegistryError('WRONG_CHAIN')
  const { number, hash, timestamp } = head.data
  if (now().getTime() - timestamp * 1000 > BLOCK_AGE_MS_MAX) throw new RegistryError('OLD_BLOCK')
  return { number, hash, timestamp: new Date(timestamp * 1000).toISOString() }
}

function toResult(reply: RpcReply | undefined): unknown {
  return reply?.kind === 'result' ? reply.result : undefined
}

function isRevert(reply: RpcReply | undefined, expected: Hex): boolean {
  return reply?.kind === 'error' && reply.error.data === expected
}

/** Rejects data that does not encode to the same bytes again: the decoder ignores wrong padding and extra data. */
function decode<const Types extends readonly AbiParameter[]>(
  types: Types,
  reply: RpcReply | undefined,
): DecodeAbiParametersReturnType<Types> {
  if (reply?.kind !== 'result') throw new RegistryError('CALL_REFUSED')
  const { result } = reply
  if (typeof result !== 'string' || !/^0x([0-9a-f]{2})+$/.test(result)) throw new RegistryError('BAD_DATA')
  try {
    const values = decodeAbiParameters(types, result as Hex)
    const again = encodeAbiParameters(types, values as never)
    if (again === result) return values
  } catch {
    // Truncated data or invalid offsets.
  }
  throw new RegistryError('BAD_DATA')
}

/** Takes an address in any letter case. */
export function toChecksumAddress(text: string): Address {
  return getAddress(text.toLowerCase())
}
