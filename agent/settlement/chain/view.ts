/**
 * The call of contracts/ChainView.sol: one `eth_call` without a deployed contract, so that all values come from one
 * state of one node.
 */
import { readFileSync } from 'node:fs'
import { ReplyError } from '../rpc/post-json.ts'

/** Limited by the size of code (24 KiB), which the result must not exceed, and by the gas of a call. */
export const PAYMENTS_MAX = 100
/** Blocks between the newest block and the anchor. No reorganisation is deeper. The contract has the same number. */
export const ANCHOR_DEPTH_BLOCKS = 64n

const WORD_DIGITS = 64
const WORD_BYTES = 32n
const HEAD_WORDS = 8
const STATE_WORDS = 4

/** A payment whose state is read. */
export interface ObservedPayment {
  asset: string
  payer: string
  nonce: string
  /** The block that was recorded before the settlement. */
  recordedBlock?: bigint | undefined
}

interface PaymentState {
  /** Bytes of code of the payer. A contract wallet, or an account with an EIP-7702 delegation, has code. */
  codeBytes: number
  /** The payer's balance of the asset. */
  balance: bigint
  /** Whether the nonce is used or cancelled. */
  isNonceUsed: boolean
  /**
   * The hash of the recorded block. Undefined if the contract cannot read it: it is too old, or not below the newest
   * one.
   */
  recordedHash: string | undefined
}

interface ChainState {
  chainId: bigint
  number: bigint
  /** The timestamp of the block, in seconds. */
  time: bigint
  /** The block 64 below, which identifies the chain. Its hash is undefined if the node does not show it. */
  anchor: { number: bigint; hash: string | undefined }
  /** The hash of the block that the caller named, or undefined. */
  checkedHash: string | undefined
  /** Whether the token would make the transfer in this state. Undefined if none was tried. */
  isTransferable: boolean | undefined
  /** In the order of the call. */
  payments: PaymentState[]
}

let creation: string | undefined

interface ViewRequest {
  /** A block whose hash is read. */
  checkedBlock?: bigint | undefined
  /** The data of a call that the token of the first payment tries (`transferCall`). */
  transfer?: string | undefined
}

/** The data of the `eth_call`. */
export function encodeView(
  payments: readonly ObservedPayment[],
  { checkedBlock = 0n, transfer = '0x' }: ViewRequest = {},
): string {
  creation ??= readCreation()
  const digits = transfer.slice(2)
  const padded = digits.padEnd(Math.ceil(digits.length / WORD_DIGITS) * WORD_DIGITS, '0')
  const transferAt = 3n * WORD_BYTES
  const paymentsAt = transferAt + WORD_BYTES + BigInt(padded.length / 2)
  const head = [checkedBlock, paymentsAt, transferAt, BigInt(digits.length / 2)].map(word).join('')
  const states = payments.flatMap(({ asset, payer, nonce, recordedBlock = 0n }) => [
    word(asset),
    word(payer),
    word(nonce),
    word(recordedBlock),
  ])
  return creation + head + padded + [word(BigInt(payments.length)), ...states].join('')
}

/** @throws ReplyError if the result has another form */
export function decodeView(result: unknown, payments: readonly ObservedPayment[]): ChainState {
  const count = payments.length
  const words = typeof result === 'string' ? splitWords(result) : undefined
  if (words?.length !== HEAD_WORDS + count * STATE_WORDS || number(words[7]) !== BigInt(count))
    throw new ReplyError('NO_CHAIN_VIEW')
  const newest = number(words[1])
  return {
    chainId: number(words[0]),
    number: newest,
    time: number(words[2]),
    anchor: { number: newest > ANCHOR_DEPTH_BLOCKS ? newest - ANCHOR_DEPTH_BLOCKS : 0n, hash: hash(words[3]) },
    checkedHash: hash(words[4]),
    isTransferable: number(words[5]) === 0n ? undefined : number(words[5]) === 1n,
    payments: payments.map((_, index) => decodeState(words.slice(HEAD_WORDS + index * STATE_WORDS))),
  }
}

function decodeState([codeBytes, balance, isNonceUsed, recordedHash]: string[]): PaymentState {
  return {
    codeBytes: Number(number(codeBytes)),
    balance: number(balance),
    isNonceUsed: number(isNonceUsed) !== 0n,
    recordedHash: hash(recordedHash),
  }
}

function splitWords(result: string): string[] | undefined {
  if (!/^0x(?:[0-9a-f]{64})+$/.test(result)) return undefined
  return result.slice(2).match(/.{64}/g) ?? undefined
}

function number(digits = ''): bigint {
  return BigInt(`0x${digits}`)
}

/** A hash of zero means that the node does not have the block. */
function hash(digits = ''): string | undefined {
  return /^0+$/.test(digits) ? undefined : `0x${digits}`
}

/** Hexadecimal digits with `0x`, or a number, as a word of 32 bytes. */
function word(value: string | bigint): string {
  const digits = typeof value === 'bigint' ? value.toString(16) : value.slice(2).toLowerCase()
  return digits.padStart(WORD_DIGITS, '0')
}

function readCreation(): string {
  const file = new URL(import.meta.resolve('#root/agent/settlement/chain/contracts/ChainView.json'))
  return (JSON.parse(readFileSync(file, 'utf8')) as { creation: string }).creation
}
