/** The signer of a key: that of the caller, or that of a private key, which needs the cryptography of viem. */
import type { Authorization, Signer } from './signer.ts'

export async function signerOf(key: `0x${string}` | Signer): Promise<Signer> {
  if (typeof key !== 'string') return key
  const { privateKeyToAccount } = await import('viem/accounts')
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
