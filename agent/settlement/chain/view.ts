/**
 * The call of contracts/ChainView.sol: one `eth_call` without a deployed contract, so that all values come from one
 * state of one node.
 */
import { readFileSync } from 'node:fs'
import {
  decodeAbiParameters,
  encodeDeployData,
  parseAbiParameters,
  zeroAddress,
  zeroHash,
  type Abi,
  type Hex,
} from 'viem'
import { ReplyError } from '../rpc/post-json.ts'
import { revertReason, textOf, type TransferCall, type TransferTrial } from './token.ts'

/** Limited by the size of code (24 KiB), which the result must not exceed, and by the gas of a call. */
export const PAYMENTS_MAX = 100
/** Blocks between the newest block and the anchor. No reorganisation is deeper. The contract has the same number. */
export const ANCHOR_DEPTH_BLOCKS = 64n

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
  /** Undefined if no transfer was tried. */
  trial: TransferTrial | undefined
  /** In the order of the call. */
  payments: PaymentState[]
}

interface ViewRequest {
  /** A block whose hash is read. */
  checkedBlock?: bigint | undefined
  /** What the token of the first payment tries. */
  transfer?: TransferCall | undefined
}

const FILE = new URL(import.meta.resolve('#root/agent/settlement/chain/contracts/ChainView.json'))
const { abi, creation } = JSON.parse(readFileSync(FILE, 'utf8')) as { abi: Abi; creation: Hex }

/** What the constructor returns. */
const RESULT = parseAbiParameters([
  'uint256 chainId, uint256 number, uint256 time, bytes32 anchor, bytes32 checked, uint256 outcome, bytes reason, State[] states',
  'struct State { uint256 codeBytes; uint256 balance; bool isNonceUsed; bytes32 recordedHash; }',
])

/** The data of the `eth_call`. */
export function encodeView(
  payments: readonly ObservedPayment[],
  { checkedBlock = 0n, transfer = { data: '0x' } }: ViewRequest = {},
): string {
  const read = payments.map(({ asset, payer, nonce, recordedBlock = 0n }) => ({
    token: asset.toLowerCase(),
    payer: payer.toLowerCase(),
    nonce: nonce.toLowerCase(),
    recordedBlock,
  }))
  const { factory, data } = transfer.deployment ?? { factory: zeroAddress, data: '0x' }
  return encodeDeployData({ abi, bytecode: creation, args: [checkedBlock, read, transfer.data, factory, data] })
}

/** @throws ReplyError if the result has another form */
export function decodeView(result: unknown, payments: readonly ObservedPayment[]): ChainState {
  const [chainId, number, time, anchor, checked, outcome, reason, states] = decodeResult(result)
  if (states.length !== payments.length) throw new ReplyError('NO_CHAIN_VIEW')
  return {
    chainId,
    number,
    time,
    anchor: { number: number > ANCHOR_DEPTH_BLOCKS ? number - ANCHOR_DEPTH_BLOCKS : 0n, hash: unlessZero(anchor) },
    checkedHash: unlessZero(checked),
    trial: outcome === 0n ? undefined : outcome === 1n ? 'made' : revertReason(textOf(reason)),
    payments: states.map(({ codeBytes, balance, isNonceUsed, recordedHash }) => ({
      codeBytes: Number(codeBytes),
      balance,
      isNonceUsed,
      recordedHash: unlessZero(recordedHash),
    })),
  }
}

function decodeResult(result: unknown) {
  try {
    return decodeAbiParameters(RESULT, result as Hex)
  } catch {
    throw new ReplyError('NO_CHAIN_VIEW')
  }
}

/** A hash of zero means that the node does not have the block. */
function unlessZero(hash: Hex): Hex | undefined {
  return hash === zeroHash ? undefined : hash
}
