/**
 * The call of contracts/ChainView.sol: one `eth_call` without a deployed contract, so that all values come from one
 * state of one node.
 */
import { readFileSync } from 'node:fs'
import { ReplyError } from '../rpc/post-json.ts'
import { revertReason, textOf, type NonceKey, type TransferCall } from './token.ts'

/** Limited by the size of code (24 KiB), which the result must not exceed, and by the gas of a call. */
export const PAYMENTS_MAX = 100
/** No reorganisation is deeper: the blocks between the newest one and the anchor. The contract has the same number. */
export const REORG_BLOCKS_MAX = 64n

export interface ObservedPayment extends NonceKey {
  /** The block that was recorded before the settlement. */
  recordedBlock?: bigint | undefined
}

interface ViewRequest {
  /** A block whose hash is read. */
  checkedBlock?: bigint | undefined
  /** What the token of the first payment tries. */
  transfer?: TransferCall | undefined
}

const FILE = new URL(import.meta.resolve('#root/agent/settlement/chain/contracts/ChainView.json'))
const { creation } = JSON.parse(readFileSync(FILE, 'utf8')) as { creation: string }

const WORD_BYTES = 32
const WORD_DIGITS = 2 * WORD_BYTES
/** The words of a payment in the arguments, and of its state in the result. */
const STATE_WORDS = 4

/**
 * The data of the `eth_call`: the code and its arguments. The fixed ABI layout is encoded and decoded here, because
 * viem takes ten times as long (`bench perf`, row "paid lookup"). The tests compare both.
 */
export function encodeView(
  payments: readonly ObservedPayment[],
  { checkedBlock = 0n, transfer = { data: '0x', deployment: undefined } }: ViewRequest = {},
): string {
  const { factory, data } = transfer.deployment ?? { factory: '0x', data: '0x' }
  const listAt = 5 * WORD_BYTES
  const transferAt = listAt + (1 + STATE_WORDS * payments.length) * WORD_BYTES
  const transferBytes = toBytes(transfer.data)
  const deploymentAt = transferAt + transferBytes.length / 2
  const read = payments.flatMap(({ asset, payer, nonce, recordedBlock = 0n }) => [asset, payer, nonce, recordedBlock])
  const head = [checkedBlock, listAt, transferAt, factory, deploymentAt, payments.length, ...read].map(toWord)
  return creation + head.join('') + transferBytes + toBytes(data)
}

/** The length and the bytes of hexadecimal digits with `0x`, in whole words. */
function toBytes(hex: string): string {
  const digits = hex.slice(2)
  return toWord(digits.length / 2) + digits.padEnd(Math.ceil(digits.length / WORD_DIGITS) * WORD_DIGITS, '0')
}

/** A number, or lower-case hexadecimal digits with `0x`. */
function toWord(value: string | number | bigint): string {
  const digits = typeof value === 'string' ? value.slice(2) : value.toString(16)
  return digits.padStart(WORD_DIGITS, '0')
}

/**
 * What an observation has of the chain. A hash is undefined if the node does not have the block.
 * @throws ReplyError if the result has another form, or lacks the hash of the anchor
 */
export function decodeView(result: unknown, payments: readonly ObservedPayment[]) {
  const digits = typeof result === 'string' ? /^0x((?:[0-9a-f]{64})+)$/i.exec(result)?.[1] : undefined
  const words = digits?.toLowerCase().match(/.{64}/g) ?? []
  const wordAt = (index: number): string => {
    const word = words[index]
    if (word === undefined) throw new ReplyError('NO_CHAIN_VIEW')
    return word
  }
  const numberAt = (index: number) => BigInt(`0x${wordAt(index)}`)
  const hashAt = (index: number) => (/^0+$/.test(wordAt(index)) ? undefined : `0x${wordAt(index)}`)
  const positionAt = (index: number) => Number(numberAt(index)) / WORD_BYTES
  const [number, anchorHash] = [numberAt(1), hashAt(3)]
  const [outcome, reasonAt, statesAt] = [numberAt(5), positionAt(6), positionAt(7)]
  if (numberAt(statesAt) !== BigInt(payments.length)) throw new ReplyError('NO_CHAIN_VIEW')
  if (anchorHash === undefined) throw new ReplyError('NO_BLOCK_HASH')
  const readReason = () =>
    `0x${words
      .slice(reasonAt + 1)
      .join('')
      .slice(0, 2 * Number(numberAt(reasonAt)))}`
  return {
    chainId: numberAt(0),
    number,
    time: numberAt(2),
    anchor: { number: number > REORG_BLOCKS_MAX ? number - REORG_BLOCKS_MAX : 0n, hash: anchorHash },
    /** Of the block that the caller named. */
    checkedHash: hashAt(4),
    trial: outcome === 0n ? undefined : outcome === 1n ? ('made' as const) : revertReason(textOf(readReason())),
    payments: payments.map((_, index) => {
      const at = statesAt + 1 + index * STATE_WORDS
      return {
        codeBytes: Number(numberAt(at)),
        balance: numberAt(at + 1),
        isNonceUsed: numberAt(at + 2) !== 0n,
        recordedHash: hashAt(at + 3),
      }
    }),
  }
}
