/** The signer of a private key. Loaded only for one, because it brings the cryptography of viem. */
import { privateKeyToAccount } from 'viem/accounts'
import type { Authorization, Signer } from './signer.ts'

export function createSigner(key: `0x${string}`): Signer {
  const account = privateKeyToAccount(key)
  return {
    address: account.address,
    signTypedData: (typed) => account.signTypedData({ ...typed, message: toNumbers(typed.message) }),
  }
}

/** viem computes with numbers as bigints. */
const toNumbers = ({ value, validAfter, validBefore, ...message }: Authorization) => ({
  ...message,
  value: BigInt(value),
  validAfter: BigInt(validAfter),
  validBefore: BigInt(validBefore),
})
