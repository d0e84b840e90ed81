/** Checks of configured accounts: the address that receives payments, and the private key that pays for gas. */
import { isAddress, zeroAddress, type Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'

/** A nonzero address in lower case or with a valid EIP-55 checksum. */
export function isPayableAddress(text: string): boolean {
  return isAddress(text, { strict: true }) && text !== zeroAddress
}

/** A secp256k1 private key in hex. */
export function isPrivateKey(text: string): text is Hex {
  if (!/^0x[0-9a-fA-F]{64}$/.test(text)) return false
  try {
    return privateKeyToAddress(text as Hex) !== zeroAddress
  } catch {
    return false
  }
}
