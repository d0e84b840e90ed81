/** The fake chain node: the JSON-RPC methods that the service calls, answered from the ledger or the simulation. */
import { numberToHex, pad } from 'viem'
import { readChainWith, type Chain } from '../../../agent/settlement/chain/chain.ts'
import { TRANSFER } from '../../../agent/settlement/chain/event-logs.ts'
import { RpcError, type Rpc } from '../../../agent/settlement/rpc/json-rpc.ts'
import type { Ledger, LedgerTransfer } from './ledger.ts'
import {
  isShown,
  toBlock,
  toLogs,
  toReceipt,
  toView,
  type FilterTopics,
  type NodeBlock,
  type NodeSpend,
  type ViewedState,
} from './wire.ts'

const NONCE_DIGITS = 64
/** Enough for every payment of a test. */
const BALANCE = 1_000_000_000

interface RpcRequest {
  id: number
  method: string
  params: unknown[]
}

/** The chain of the ledger as the service reads it, from a node that has every block. */
export function readLedger(ledger: Ledger, now: () => Date): Chain {
  return readChainWith([nodeOf(ledger)], { chainId: ledger.chainId, now })
}

/** A node that is a number of blocks behind. */
export function nodeOf(ledger: Ledger, behind = 0): Rpc {
  return async (method, params = []) => replyTo(showLedger(ledger, ledger.newest - behind), method, params)
}

/** The replies to one request or to a batch. */
export function answerRpc(ledger: Ledger, body: unknown): unknown {
  return Array.isArray(body)
    ? body.map((each) => answerOne(ledger, each as RpcRequest))
    : answerOne(ledger, body as RpcRequest)
}

function answerOne(ledger: Ledger, { id, method, params }: RpcRequest) {
  try {
    return { jsonrpc: '2.0', id, result: replyTo(showLedger(ledger), method, params) }
  } catch (cause) {
    const { code, message } = cause as RpcError
    return { jsonrpc: '2.0', id, error: { code, message } }
  }
}

/** What a node shows of a chain. */
export interface ShownChain {
  chainId: number
  newest: number
  /** The newest final block. */
  final: number
  /** Undefined for a block that the node does not have. */
  block: (number: number) => NodeBlock | undefined
  stateOf: (payer: string, nonce: string) => ViewedState
  /** The uses of nonces in a range of blocks. With nonces, only theirs are needed. */
  spends: (range: { from: number; to: number }, nonces: readonly string[] | undefined) => readonly ShownSpend[]
  spendIn: (transaction: string) => ShownSpend | undefined
}

interface ShownSpend {
  spend: NodeSpend
  transaction: string
  block: number
}

/** A node that has the blocks of the ledger up to `newest`. */
export function showLedger(ledger: Ledger, newest = ledger.newest): ShownChain {
  const toShown = (transfer: LedgerTransfer | undefined) =>
    transfer && transfer.block <= newest ? { ...transfer, spend: transfer.authorization } : undefined
  return {
    chainId: ledger.chainId,
    newest,
    final: newest - ledger.unfinalBlocks,
    block: (number) => (number > newest ? undefined : ledger.block(number)),
    stateOf: (payer, nonce) => {
      const { codeBytes = 0, balance = BALANCE, revert } = ledger.noteObserved(payer)
      return { codeBytes, balance, isUsed: toShown(ledger.transferOf(nonce)) !== undefined, revert }
    },
    spends: ({ from, to }, nonces) => {
      if (to > newest) throw new RpcError({ code: -32_000, message: 'block range extends beyond the head' })
      const found = nonces?.map((nonce) => ledger.transferOf(nonce)) ?? ledger.transfersIn(from, to)
      return found.flatMap((transfer) => toShown(transfer) ?? []).filter(({ block }) => block >= from && block <= to)
    },
    spendIn: (transaction) => toShown(ledger.transferIn(transaction)),
  }
}

/** The reply of a node to a call of the service. */
export function replyTo(chain: ShownChain, method: string, [first, second]: readonly unknown[]): unknown {
  switch (method) {
    case 'eth_chainId':
      return numberToHex(chain.chainId)
    case 'eth_getBlockByNumber':
      return toBlock(
        chain.block(first === 'latest' ? chain.newest : first === 'finalized' ? chain.final : Number(first)),
      )
    case 'eth_call':
      if (second !== 'latest') throw new RpcError({ code: -32_602, message: 'The state of another block is read' })
      return call(chain, first as { to?: string; data: string })
    case 'eth_getTransactionReceipt': {
      const found = chain.spendIn(String(first))
      return found ? toReceipt(found.spend, found.transaction, blockOf(chain, found.block)) : null
    }
    case 'eth_getLogs':
      return logs(chain, first as LogFilter)
    default:
      throw new RpcError({ code: -32_601, message: `${method} is not available` })
  }
}

/** `authorizationState(address,bytes32)` of the token, or the view. */
function call(chain: ShownChain, { to, data }: { to?: string; data: string }): string {
  const { chainId, newest, stateOf, spends } = chain
  if (to !== undefined)
    return pad(spends({ from: 0, to: newest }, [`0x${data.slice(-NONCE_DIGITS)}`])[0] ? '0x1' : '0x0')
  const hashOf = (number: number) => chain.block(number)?.hash
  return toView(data, { chainId, newest: blockOf(chain, newest), hashOf, stateOf })
}

interface LogFilter {
  fromBlock: string
  toBlock: string
  topics: FilterTopics
}

function logs(chain: ShownChain, { fromBlock, toBlock: last, topics }: LogFilter) {
  const nonces = topics[0] === TRANSFER ? undefined : [topics[2] ?? []].flat()
  return chain
    .spends({ from: Number(fromBlock), to: Number(last) }, nonces)
    .flatMap(({ spend, transaction, block }) => toLogs(spend, transaction, blockOf(chain, block)))
    .filter((log) => isShown(log, topics))
}

function blockOf(chain: ShownChain, number: number): NodeBlock {
  const block = chain.block(number)
  if (!block) throw new Error('The node does not have the block')
  return block
}
