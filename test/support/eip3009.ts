/** Signs EIP-3009 messages for the test token, with typed data independent of the code under test. */
import type { Address, Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

export interface AuthorizationMessage {
  from: Address
  to: Address
  value: bigint
  validAfter: bigint
  validBefore: bigint
  nonce: Hex
}

/** Written out so that a wrong constant of the service fails the tests. */
export const DOMAIN = {
  name: 'USDC',
  version: '2',
  chainId: 84_532,
  verifyingContract: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
} as const

/** A domain that a test can change. */
export type Domain = { name: string; version: string; chainId: number; verifyingContract: Address }

/** The members of TransferWithAuthorization and ReceiveWithAuthorization. */
export const MEMBERS = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const

/** Signs with the key, which need not belong to `from`. */
export async function signAuthorization(
  key: Hex,
  authorization: AuthorizationMessage,
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
