/** The fake chain node: the JSON-RPC methods that the service calls, answered from the ledger. */
import { numberToHex, pad, toEventSelector, type Hex } from 'viem'
import { DOMAIN } from '../../support/eip3009.ts'
import { answerView } from './chain-view.ts'
import { blockAt, type Ledger, type LedgerBlock, type LedgerTransfer } from './ledger.ts'

const USED = toEventSelector('AuthorizationUsed(address,bytes32)')
const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
const NONCE_DIGITS = 64

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
  const result = resultOf(ledger, method, params)
  return result === undefined
    ? { jsonrpc: '2.0', id, error: { code: -32_601, message: `${method} is not available` } }
    : { jsonrpc: '2.0', id, result }
}

function resultOf(ledger: Ledger, method: string, [first, second]: unknown[]): unknown {
  switch (method) {
    case 'eth_chainId':
      return numberToHex(DOMAIN.chainId)
    case 'eth_blockNumber':
      return numberToHex(ledger.newestBlock.number)
    case 'eth_getBlockByNumber':
      return toBlock(namedBlock(ledger, String(first)))
    case 'eth_getCode':
      return '0x'
    case 'eth_call':
      return call(ledger, first as { to?: string; data: string }, second)
    case 'eth_getTransactionReceipt':
      return toReceipt(ledger.transferIn(String(first)))
    case 'eth_getLogs':
      return logsOf(ledger, first as { topics: string[] })
    default:
      return undefined
  }
}

/** `authorizationState(address,bytes32)` of the token, or the view. */
function call(ledger: Ledger, { to, data }: { to?: string; data: string }, at: unknown): string | undefined {
  if (to !== undefined) return pad(ledger.isUsed(`0x${data.slice(-NONCE_DIGITS)}`) ? '0x01' : '0x00')
  const block = at === 'finalized' ? ledger.finalBlock : ledger.newestBlock
  return answerView(ledger, { data, chainId: DOMAIN.chainId, block })
}

function namedBlock(ledger: Ledger, name: string): LedgerBlock {
  if (name === 'latest') return ledger.newestBlock
  return name === 'finalized' ? ledger.finalBlock : blockAt(Number(name))
}

function toBlock({ number, hash, timestamp }: LedgerBlock) {
  return { number: numberToHex(number), hash, timestamp: numberToHex(timestamp) }
}

function toReceipt(transfer: LedgerTransfer | undefined) {
  if (!transfer) return null
  const { block, transaction } = transfer
  const { hash } = blockAt(block)
  const common = { status: '0x1', transactionHash: transaction, blockNumber: numberToHex(block), blockHash: hash }
  return { ...common, logs: toLogs(transfer) }
}

/** The token logs the transfer directly after the use of the nonce. */
function toLogs({ authorization: { from, to, value, nonce }, transaction, block }: LedgerTransfer) {
  const common = {
    address: DOMAIN.verifyingContract.toLowerCase(),
    transactionHash: transaction,
    blockNumber: numberToHex(block),
    blockHash: blockAt(block).hash,
  }
  const [payer, payee] = [pad(from.toLowerCase() as Hex), pad(to.toLowerCase() as Hex)]
  return [
    { ...common, logIndex: '0x0', topics: [USED, payer, nonce], data: '0x' },
    { ...common, logIndex: '0x1', topics: [TRANSFER, payer, payee], data: pad(numberToHex(BigInt(value))) },
  ]
}

/** Only the use of one nonce is searched for. */
function logsOf(ledger: Ledger, { topics: [, , nonce = ''] }: { topics: string[] }) {
  const transfer = ledger.transferOf(nonce)
  return transfer ? toLogs(transfer).slice(0, 1) : []
}
