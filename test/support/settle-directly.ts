/** Sends a signed authorization to the token without a facilitator, as EIP-3009 allows anyone to do. */
import { createWalletClient, encodeFunctionData, http, parseAbi, publicActions, type Hex } from 'viem'
import { DEPLOYMENTS } from '../../agent/payment/terms.ts'
import { MULTICALL } from '../../agent/settlement/chain/multicall.ts'
import { rpc } from './chain.ts'
import type { AuthorizationFields } from './payments.ts'

const TOKEN = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
])

const AGGREGATE = parseAbi([
  'function aggregate3((address target, bool allowFailure, bytes callData)[] calls) payable returns ((bool success, bytes returnData)[])',
])

/** An account that the test chain impersonates. */
const THIRD_PARTY = '0x000000000000000000000000000000000000dEaD'

interface DirectSettlement {
  rpcUrl: string
  payload: Record<string, unknown>
}

export function settleDirectly({ rpcUrl, payload }: DirectSettlement): Promise<Hex> {
  return sendAsThirdParty(rpcUrl, DEPLOYMENTS.testnet.asset, transferData(payload))
}

/** Several authorizations in one transaction, in this order. */
export function settleTogether(rpcUrl: string, payloads: Record<string, unknown>[]): Promise<Hex> {
  const calls = payloads.map((payload) => ({
    target: DEPLOYMENTS.testnet.asset,
    allowFailure: false,
    callData: transferData(payload),
  }))
  return sendAsThirdParty(rpcUrl, MULTICALL, encodeFunctionData({ abi: AGGREGATE, args: [calls] }))
}

function transferData(payload: Record<string, unknown>): Hex {
  const { authorization, signature } = payload as { authorization: AuthorizationFields; signature: Hex }
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const args = [from as Hex, to as Hex, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce as Hex] as const
  return encodeFunctionData({ abi: TOKEN, functionName: 'transferWithAuthorization', args: [...args, signature] })
}

async function sendAsThirdParty(rpcUrl: string, to: Hex, data: Hex): Promise<Hex> {
  await rpc(rpcUrl, 'anvil_setBalance', THIRD_PARTY, '0x56bc75e2d63100000')
  await rpc(rpcUrl, 'anvil_impersonateAccount', THIRD_PARTY)
  const wallet = createWalletClient({ transport: http(rpcUrl) }).extend(publicActions)
  const hash = await wallet.sendTransaction({ chain: null, account: THIRD_PARTY, to, data })
  const { status } = await wallet.waitForTransactionReceipt({ hash, pollingInterval: 50 })
  if (status !== 'success') throw new Error('The token reverted the transfer')
  return hash
}
