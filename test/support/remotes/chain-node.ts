/** The fake chain node: the JSON-RPC methods that the service calls, answered from the ledger. */
import { numberToHex, pad } from 'viem'
import { TRANSFER } from '../../../agent/settlement/chain/event-logs.ts'
import { RpcError } from '../../../agent/settlement/rpc/json-rpc.ts'
import type { Ledger } from './ledger.ts'
import { isShown, toBlock, toLogs, toReceipt, toView, type FilterTopics } from './wire.ts'

const NONCE_DIGITS = 64
/** Enough for every payment of a test. */
const BALANCE = 1_000_000_000

interface RpcRequest {
  id: number
  method: string
  params: unknown[]
}

/** The replies to one request or to a batch. */
export function answerRpc(ledger: Ledger, body: unknown): unknown {
  return Array.isArray(body)
    ? body.map((each) => answerOne(ledger, each as RpcRequest))
    : answerOne(ledger, body as RpcRequest)
}

function answerOne(ledger: Ledger, { id, method, params }: RpcRequest) {
  try {
    return { jsonrpc: '2.0', id, result: replyTo(ledger, method, params) }
  } catch (cause) {
    const { code, message } = cause as RpcError
    return { jsonrpc: '2.0', id, error: { code, message } }
  }
}

/** `newest` is the newest block of the node. It has no later one. */
export function replyTo(
  ledger: Ledger,
  method: string,
  [first, second]: readonly unknown[],
  newest: number = ledger.newest,
): unknown {
  switch (method) {
    case 'eth_chainId':
      return numberToHex(ledger.chainId)
    case 'eth_getBlockByNumber':
      return block(ledger, String(first), newest)
    case 'eth_call':
      if (second !== 'latest') throw new RpcError({ code: -32_602, message: 'The state of another block is read' })
      return call(ledger, first as { to?: string; data: string }, newest)
    case 'eth_getTransactionReceipt':
      return receipt(ledger, String(first), newest)
    case 'eth_getLogs':
      return logs(ledger, first as LogFilter, newest)
    default:
      throw new RpcError({ code: -32_601, message: `${method} is not available` })
  }
}

function block(ledger: Ledger, at: string, newest: number) {
  const number = at === 'latest' ? newest : at === 'finalized' ? newest - ledger.unfinalBlocks : Number(at)
  return toBlock(number > newest ? undefined : ledger.block(number))
}

/** `authorizationState(address,bytes32)` of the token, or the view. */
function call(ledger: Ledger, { to, data }: { to?: string; data: string }, newest: number): string {
  const isUsed = (nonce: string) => (ledger.transferOf(nonce)?.block ?? Infinity) <= newest
  if (to !== undefined) return pad(isUsed(`0x${data.slice(-NONCE_DIGITS)}`) ? '0x01' : '0x00')
  return toView(data, {
    chainId: ledger.chainId,
    newest: ledger.block(newest),
    hashOf: (number) => ledger.block(number).hash,
    stateOf: (payer, nonce) => {
      const { codeBytes = 0, balance = BALANCE, isRefused } = ledger.noteObserved(payer)
      return { codeBytes, balance, isUsed: isUsed(nonce), isRefused }
    },
  })
}

function receipt(ledger: Ledger, hash: string, newest: number) {
  const transfer = ledger.transferIn(hash)
  if (!transfer || transfer.block > newest) return null
  return toReceipt(transfer.authorization, hash, ledger.block(transfer.block))
}

interface LogFilter {
  fromBlock: string
  toBlock: string
  topics: FilterTopics
}

function logs(ledger: Ledger, { fromBlock, toBlock: last, topics }: LogFilter, newest: number) {
  if (Number(last) > newest) throw new RpcError({ code: -32_000, message: 'block range extends beyond the head' })
  const isNear = ({ block: at }: { block: number }) => at >= Number(fromBlock) && at <= Number(last)
  const transfers =
    topics[0] === TRANSFER
      ? ledger.transfersIn(Number(fromBlock), Number(last))
      : [topics[2] ?? []]
          .flat()
          .flatMap((nonce) => ledger.transferOf(nonce) ?? [])
          .filter(isNear)
  return transfers.flatMap(({ authorization, transaction, block: at }) =>
    toLogs(authorization, transaction, ledger.block(at)).filter((log) => isShown(log, topics)),
  )
}
