/**
 * Reads an agent's identity and a page of one client's feedback from the chain, each as it stands in one block, named by
 * its hash: after a reorganisation the node has to refuse, and does not answer from another history.
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
import { noSuchAgent, OUT_OF_BOUNDS, REGISTRIES, REGISTRY_ABI, RETURNS } from './contracts.ts'
import { RegistryError } from './errors.ts'
import type { Call, Reply, SendBatch } from './transport.ts'
import { show, type Shown } from './untrusted.ts'

/** A node that lags this far behind is not asked. */
const BLOCK_AGE_MS_MAX = 5 * 60_000
const URI_CODE_POINTS_MAX = 2_048
const TAG_CODE_POINTS_MAX = 256
/** The ERC's own bounds. */
const DECIMALS_MAX = 18
const VALUE_MAX = 10n ** 38n

export interface Block {
  number: number
  hash: Hex
  timestamp: string
}

export interface Agent {
  owner: Address
  /** Null when none is set. */
  wallet: Address | null
  uri: Shown
  /** The URI on the chain, byte by byte, is the expected one. */
  isUriExpected: boolean
}

/** No agent: the chain says that there is none with this number. */
interface FoundIdentity {
  block: Block
  agent: Agent | undefined
}

export interface PageQuery {
  /** With its checksum. */
  client: Address
  /** On-chain indexes begin with 1. */
  start: number
  limit: number
}

interface Feedback {
  index: number
  /** A decimal: the chain's numbers have 128 bits. */
  value: string
  valueDecimals: number
  tag1: string
  tag2: string
  tagsAltered: boolean
  revoked: boolean
}

export interface Page {
  block: Block
  lastIndex: number
  feedback: Feedback[]
}

export interface Reader {
  identity(signal: AbortSignal): Promise<FoundIdentity>
  page(query: PageQuery, signal: AbortSignal): Promise<Page>
}

interface Subject {
  send: SendBatch
  chainId: number
  agentId: bigint
  /** What the agent's URI should be. */
  agentUri: string
  now: () => Date
}

/** Every read throws a RegistryError, or what it gives is whole. */
export function openReader(subject: Subject): Reader {
  return {
    identity: (signal) => readIdentity(subject, signal),
    page: (query, signal) => readPage(subject, query, signal),
  }
}

async function readIdentity(subject: Subject, signal: AbortSignal): Promise<FoundIdentity> {
  const { agentId, agentUri } = subject
  const about = { abi: REGISTRY_ABI, args: [agentId] } as const
  const { block, replies } = await callAtHead(subject, signal, [
    [REGISTRIES.reputation, encodeFunctionData({ abi: REGISTRY_ABI, functionName: 'getIdentityRegistry' })],
    [REGISTRIES.identity, encodeFunctionData({ ...about, functionName: 'ownerOf' })],
    [REGISTRIES.identity, encodeFunctionData({ ...about, functionName: 'tokenURI' })],
    [REGISTRIES.identity, encodeFunctionData({ ...about, functionName: 'getAgentWallet' })],
  ])
  const [linked, owned, named, paid] = replies
  if (decode(RETURNS.address, linked)[0] !== REGISTRIES.identity) throw new RegistryError('REGISTRIES_NOT_LINKED')
  const isMissing = isRevert(owned, noSuchAgent(agentId))
  if (isMissing !== isRevert(named, noSuchAgent(agentId))) throw new RegistryError('INCONSISTENT')
  if (isMissing) return { block, agent: undefined }
  const [owner] = decode(RETURNS.address, owned)
  if (owner === zeroAddress) throw new RegistryError('INCONSISTENT')
  const [uri] = decode(RETURNS.text, named)
  const [wallet] = decode(RETURNS.address, paid)
  const agent = {
    owner,
    wallet: wallet === zeroAddress ? null : wallet,
    uri: show(uri, URI_CODE_POINTS_MAX),
    isUriExpected: uri === `0x${Buffer.from(agentUri).toString('hex')}`,
  }
  return { block, agent }
}

async function readPage(subject: Subject, { client, start, limit }: PageQuery, signal: AbortSignal): Promise<Page> {
  const { agentId } = subject
  const indexes = Array.from({ length: limit }, (_, offset) => start + offset)
  const last = encodeFunctionData({ abi: REGISTRY_ABI, functionName: 'getLastIndex', args: [agentId, client] })
  const reads = indexes.map((index) =>
    encodeFunctionData({ abi: REGISTRY_ABI, functionName: 'readFeedback', args: [agentId, client, BigInt(index)] }),
  )
  const calls = [last, ...reads].map((data): Target => [REGISTRIES.reputation, data])
  const { block, replies } = await callAtHead(subject, signal, calls)
  const [lastReply, ...feedbackReplies] = replies
  const lastIndex = Number(decode(RETURNS.index, lastReply)[0])
  if (!Number.isSafeInteger(lastIndex)) throw new RegistryError('BAD_DATA')
  const feedback = indexes.flatMap((index, position) => {
    const reply = feedbackReplies[position]
    // The two functions must agree on where the feedback ends, or one of the answers is false.
    if (isRevert(reply, OUT_OF_BOUNDS) !== index > lastIndex) throw new RegistryError('INCONSISTENT')
    return index > lastIndex ? [] : [feedbackOf(index, reply)]
  })
  return { block, lastIndex, feedback }
}

function feedbackOf(index: number, reply: Reply | undefined): Feedback {
  const [value, valueDecimals, first, second, revoked] = decode(RETURNS.feedback, reply)
  if (valueDecimals > DECIMALS_MAX || value > VALUE_MAX || value < -VALUE_MAX) throw new RegistryError('BAD_DATA')
  const tag1 = show(first, TAG_CODE_POINTS_MAX)
  const tag2 = show(second, TAG_CODE_POINTS_MAX)
  const tagsAltered = tag1.altered || tag2.altered
  return { index, value: String(value), valueDecimals, tag1: tag1.text, tag2: tag2.text, tagsAltered, revoked }
}

type Target = readonly [to: Address, data: Hex]

/** Two batches: which chain and block this is, then every call in that block. */
async function callAtHead({ send, chainId, now }: Subject, signal: AbortSignal, targets: Target[]) {
  const head = await send(
    [
      { method: 'eth_chainId', params: [] },
      { method: 'eth_getBlockByNumber', params: ['latest', false] },
    ],
    signal,
  )
  const block = readHead(head, { chainId, now })
  const at = { blockHash: block.hash, requireCanonical: true }
  const calls = targets.map(([to, data]): Call => ({ method: 'eth_call', params: [{ to, data }, at] }))
  return { block, replies: await send(calls, signal) }
}

const Quantity = z
  .string()
  .regex(/^0x(0|[1-9a-f][0-9a-f]{0,12})$/)
  .transform(Number)

const Head = z.object({
  number: Quantity,
  hash: z.custom<Hex>((value) => typeof value === 'string' && /^0x[0-9a-f]{64}$/.test(value)),
  timestamp: Quantity.refine((seconds) => !Number.isNaN(new Date(seconds * 1000).getTime())),
})

function readHead([id, latest]: Reply[], { chainId, now }: Pick<Subject, 'chainId' | 'now'>): Block {
  const chain = Quantity.safeParse(resultOf(id))
  const head = Head.safeParse(resultOf(latest))
  if (!chain.success || !head.success) throw new RegistryError('NO_BLOCK')
  if (chain.data !== chainId) throw new RegistryError('WRONG_CHAIN')
  const { number, hash, timestamp } = head.data
  if (now().getTime() - timestamp * 1000 > BLOCK_AGE_MS_MAX) throw new RegistryError('OLD_BLOCK')
  return { number, hash, timestamp: new Date(timestamp * 1000).toISOString() }
}

function resultOf(reply: Reply | undefined): unknown {
  return reply && 'result' in reply ? reply.result : undefined
}

function isRevert(reply: Reply | undefined, expected: Hex): boolean {
  return reply !== undefined && 'revert' in reply && reply.revert === expected
}

/**
 * Decoders are lenient: they read over what is cut off in the padding, and over what stands where nothing belongs. What
 * doesn't encode to the same bytes again is not what the contract returned.
 */
function decode<const Types extends readonly AbiParameter[]>(
  types: Types,
  reply: Reply | undefined,
): DecodeAbiParametersReturnType<Types> {
  if (!reply || 'revert' in reply) throw new RegistryError('CALL_REFUSED')
  const { result } = reply
  if (typeof result !== 'string' || !/^0x([0-9a-f]{2})+$/.test(result)) throw new RegistryError('BAD_DATA')
  try {
    const values = decodeAbiParameters(types, result as Hex)
    const again = encodeAbiParameters(types, values as never)
    if (again === result) return values
  } catch {
    // Cut short, or with places that point nowhere.
  }
  throw new RegistryError('BAD_DATA')
}

/** An address in any case, as the specification lets clients write it, with its checksum. */
export function addressOf(text: string): Address {
  return getAddress(text.toLowerCase())
}
