/** The token contract: the nonce of a payment, the call of its transfer, and why the token reverts one. */
import { encodeFunctionData, parseAbi, type Hex } from 'viem'
import type { Payment } from '../../payment/headers.ts'
import { unwrapSignature } from '../../payment/wrapped-signature.ts'

const lower = (hex: string) => hex.toLowerCase() as Hex

/** Names the nonce of a payment on chain. In lower case. */
export interface NonceKey {
  asset: Hex
  payer: Hex
  nonce: Hex
}

export function nonceKey(asset: string, { from, nonce }: { from: string; nonce: string }): NonceKey {
  return { asset: lower(asset), payer: lower(from), nonce: lower(nonce) }
}

/** The token checks the signature of a key and of a wallet contract (ERC-1271) alike. */
const TRANSFER = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
])

/** The call of the token that settles a payment, and the one before it that deploys the wallet of the payer. */
export interface TransferCall {
  data: Hex
  deployment: { factory: Hex; data: Hex } | undefined
}

export function transferCall({ authorization, signature }: Payment['payload']): TransferCall {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const numbers = [BigInt(value), BigInt(validAfter), BigInt(validBefore)] as const
  // The checks before a sale have refused other forms.
  const { inner, deployment } = unwrapSignature(signature) ?? { inner: lower(signature), deployment: undefined }
  const args = [lower(from), lower(to), ...numbers, lower(nonce), inner] as const
  return { data: encodeFunctionData({ abi: TRANSFER, args }), deployment }
}

/**
 * What the token does with a transfer: makes it, or reverts it for one of these reasons. `other` can pass: the
 * authorization is not valid yet, the token is paused, an account is blocked, the wallet could not be deployed, or the
 * reason is not known.
 */
export type TransferTrial = 'made' | 'balance' | 'signature' | 'authorization' | 'other'

/** The texts with which USDC reverts a transfer. */
const REVERTS = [
  ['balance', /ERC20: transfer amount exceeds balance/],
  ['signature', /(FiatTokenV2|ECRecover): invalid signature/],
  ['authorization', /FiatTokenV2: authorization is (expired|used or canceled)/],
] as const

export function revertReason(text: string): Exclude<TransferTrial, 'made'> {
  return REVERTS.find(([, pattern]) => pattern.test(text))?.[0] ?? 'other'
}

/** The text in the data of a revert. */
export function textOf(data: string): string {
  return Buffer.from(data.slice(2), 'hex').toString('latin1')
}
