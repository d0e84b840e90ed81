/** Sends a signed authorization to the token past every facilitator, as anyone who has seen it may (EIP-3009). */
import { createWalletClient, http, parseAbi, publicActions, type Hex } from 'viem'
import { DEPLOYMENTS } from '../../agent/payments/terms.ts'
import { rpc } from '../../agent/sandbox/rpc.ts'
import type { AuthorizationFields } from './payments.ts'

const TOKEN = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
])

/** Nobody's account, which the test chain lets us use. */
const STRANGER = '0x000000000000000000000000000000000000dEaD'

export async function settleDirectly({
  rpcUrl,
  payload,
}: {
  rpcUrl: string
  payload: Record<string, unknown>
}): Promise<Hex> {
  const { authorization, signature } = payload as { authorization: AuthorizationFields; signature: Hex }
  await rpc(rpcUrl, 'anvil_setBalance', STRANGER, '0x56bc75e2d63100000')
  await rpc(rpcUrl, 'anvil_impersonateAccount', STRANGER)
  const wallet = createWalletClient({ transport: http(rpcUrl) }).extend(publicActions)
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const hash = await wallet.writeContract({
    chain: null,
    account: STRANGER,
    address: DEPLOYMENTS.testnet.asset,
    abi: TOKEN,
    functionName: 'transferWithAuthorization',
    args: [from as Hex, to as Hex, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce as Hex, signature],
  })
  await wallet.waitForTransactionReceipt({ hash, pollingInterval: 50 })
  return hash
}
