/** Encodes blocks, logs, receipts and results of the view as replies of JSON-RPC, for the fake chain nodes. */
import { numberToHex, pad, type Hex } from 'viem'
import { CANCELED, TRANSFER, USED } from '../../../agent/settlement/chain/event-logs.ts'
import { RpcError } from '../../../agent/settlement/rpc/json-rpc.ts'
import { encodeView } from '../../../agent/settlement/chain/view.ts'
import { DOMAIN } from '../eip3009.ts'

const WORD_DIGITS = 64
/** The digits of the code of the view, before its arguments. */
const CODE_DIGITS = encodeView([]).length - 8 * WORD_DIGITS
/** The selector of a function. */
const SELECTOR_DIGITS = 8
const WORDS_PER_PAYMENT = 4
/** Fits each text of the token. */
const REASON_BYTES = 96
/** Blocks between the newest block and the anchor. */
const ANCHOR_DEPTH = 64
const ASSET = DOMAIN.verifyingContract.toLowerCase()

/** A call with this factory fails as a whole. */
export const FAILING_FACTORY = `0x${'fa'.repeat(20)}` as const

export interface NodeBlock {
  number: number
  hash: string
  /** In seconds. */
  time: number
}

/** The use of a nonce. A cancellation makes no transfer. */
export interface NodeSpend {
  kind?: 'transfer' | 'cancel'
  from: string
  to: string
  value: string | bigint
  nonce: string
}

export interface ViewedState {
  codeBytes: number
  balance: number | bigint
  isUsed: boolean
  /** The text with which the token reverts every transfer. */
  revert?: string | undefined
}

interface ViewedChain {
  chainId: number
  newest: NodeBlock
  hashOf: (number: number) => string | undefined
  stateOf: (payer: string, nonce: string) => ViewedState
}

/** The result of agent/settlement/chain/contracts/ChainView.sol. Its arguments follow the code, which is not run. */
export function toView(data: string, { chainId, newest, hashOf, stateOf }: ViewedChain): string {
  const [checked = '', , , factory = '', , count = '', ...payments] = data.slice(CODE_DIGITS).match(/.{64}/g) ?? []
  const hash = (number: number) => word((number < newest.number && hashOf(number)) || 0)
  const states = Array.from({ length: Number(`0x${count}`) }, (_, index) => {
    const [, payer = '', nonce = '', recorded = ''] = payments.slice(index * WORDS_PER_PAYMENT)
    return { ...stateOf(`0x${payer.slice(24)}`, `0x${nonce}`), recorded: Number(`0x${recorded}`) }
  })
  const [length = '0', ...tried] = payments.slice(states.length * WORDS_PER_PAYMENT)
  const transfer = tried.join('').slice(SELECTOR_DIGITS, 2 * Number(`0x${length}`))
  // The fake chain deploys no wallet.
  if (`0x${factory.slice(24)}` === FAILING_FACTORY) throw new RpcError({ code: -32_000, message: 'out of gas' })
  const isUndeployed = BigInt(`0x${factory}`) > 0n && states[0]?.codeBytes === 0
  const reason = transfer === '' ? undefined : isUndeployed ? '' : revertOf(transfer, newest, states[0])
  const outcome = transfer === '' ? 0 : reason === undefined ? 1 : 2
  const words = states.map(({ codeBytes, balance, isUsed, recorded }) => [
    word(codeBytes),
    word(balance),
    word(isUsed ? 1 : 0),
    hash(recorded),
  ])
  const head = [word(chainId), word(newest.number), word(newest.time), hash(newest.number - ANCHOR_DEPTH)]
  const checkedHash = hash(Number(`0x${checked}`))
  const text = Buffer.alloc(REASON_BYTES)
  const reasonLength = text.write(reason ?? '')
  const reasonAt = (head.length + 4) * 32
  const offsets = [word(reasonAt), word(reasonAt + 32 + REASON_BYTES)]
  const list = [word(states.length), ...words.flat()]
  return `0x${[...head, checkedHash, word(outcome), ...offsets, word(reasonLength), text.toString('hex'), ...list].join('')}`
}

/** Why the token reverts a transfer. Undefined if it makes the transfer. Signatures are valid. */
function revertOf(transfer: string, { time }: NodeBlock, state: ViewedState | undefined): string | undefined {
  const [, , value = '', after = '', before = ''] = transfer.match(/.{64}/g) ?? []
  if (time <= Number(`0x${after}`)) return 'FiatTokenV2: authorization is not yet valid'
  if (time >= Number(`0x${before}`)) return 'FiatTokenV2: authorization is expired'
  if (state?.isUsed === true) return 'FiatTokenV2: authorization is used or canceled'
  if (!state) return 'FiatTokenV2: invalid signature'
  if (state.revert !== undefined) return state.revert
  return BigInt(state.balance) < BigInt(`0x${value}`) ? 'ERC20: transfer amount exceeds balance' : undefined
}

/** A word of 32 bytes in hex. A text is a hash with 0x. */
function word(value: string | number | bigint): string {
  return (typeof value === 'string' ? value.slice(2) : value.toString(16)).padStart(WORD_DIGITS, '0')
}

export function toBlock(block: NodeBlock | undefined) {
  return block ? { number: numberToHex(block.number), hash: block.hash, timestamp: numberToHex(block.time) } : null
}

/** The token logs the transfer directly after the use of the nonce. */
export function toLogs({ kind, from, to, value, nonce }: NodeSpend, transaction: string, block: NodeBlock) {
  const common = { address: ASSET, ...placeOf(transaction, block) }
  const [payer, payee] = [pad(from.toLowerCase() as Hex), pad(to.toLowerCase() as Hex)]
  const use = { ...common, logIndex: '0x0', topics: [kind === 'cancel' ? CANCELED : USED, payer, nonce], data: '0x' }
  if (kind === 'cancel') return [use]
  const data = numberToHex(BigInt(value), { size: 32 })
  return [use, { ...common, logIndex: '0x1', topics: [TRANSFER, payer, payee], data }]
}

/** The topics of a filter: a value, several of them, or null for any. */
export type FilterTopics = readonly (string | readonly string[] | null)[]

export function isShown({ topics }: { topics: readonly string[] }, filter: FilterTopics): boolean {
  return filter.every((wanted, index) => wanted === null || [wanted].flat().includes(topics[index] ?? ''))
}

export function toReceipt(spend: NodeSpend, transaction: string, block: NodeBlock) {
  return { status: '0x1', ...placeOf(transaction, block), logs: toLogs(spend, transaction, block) }
}

function placeOf(transactionHash: string, { number, hash }: NodeBlock) {
  return { transactionHash, blockNumber: numberToHex(number), blockHash: hash }
}
