/** EIP-3009 messages signed for the test token: the tests' own copy of the typed data, apart from the code under test. */
import type { Address, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

export interface Authorization {
  from: Address
  to: Address
  value: bigint
  validAfter: bigint
  validBefore: bigint
  nonce: Hex
}

/** Written out, so that a wrong constant of ours is not its own proof. */
export const DOMAIN = {
  name: 'USDC',
  version: '2',
  chainId: 84_532,
  verifyingContract: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
} as const

/** What a test may get wrong. */
export type Domain = { name: string; version: string; chainId: number; verifyingContract: Address }

/** Of the transfer and of the receipt alike (EIP-3009). */
export const MEMBERS = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const

/** Signed by the key, whoever `from` is. */
export async function signAuthorization(
  key: Hex,
  authorization: Authorization,
  primaryType: 'TransferWithAuthorization' | 'ReceiveWithAuthorization' = 'TransferWithAuthorization',
  domain: Domain = DOMAIN,
): Promise<Hex> {
  const types = { TransferWithAuthorization: MEMBERS, ReceiveWithAuthorization: MEMBERS }
  return privateKeyToAccount(key).signTypedData({ domain, types, primaryType, message: authorization })
}

export async function signCancellation(key: Hex, authorizer: Address, nonce: Hex): Promise<Hex> {
  return privateKeyToAccount(key).signTypedData({
    domain: DOMAIN,
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer, nonce },
  })
}
