/** Accounts as configured: the address that payments go to, and the key that pays the gas. */
import { isAddress, zeroAddress, type Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'

/** Whether a text is an address that can be paid: lower case or with a right checksum (EIP-55), and not zero. */
export function isReceiver(text: string): boolean {
  return isAddress(text, { strict: true }) && text !== zeroAddress
}

/** Whether a text is a private key of secp256k1. */
export function isPrivateKey(text: string): text is Hex {
  if (!/^0x[0-9a-fA-F]{64}$/.test(text)) return false
  try {
    return privateKeyToAddress(text as Hex) !== zeroAddress
  } catch {
    return false
  }
}
