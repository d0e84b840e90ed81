/** The address that payments go to, as configured. */
import { isAddress, zeroAddress } from 'viem'

/** Whether a text is an address that can be paid: lower case or with a right checksum (EIP-55), and not zero. */
export function isReceiver(text: string): boolean {
  return isAddress(text, { strict: true }) && text !== zeroAddress
}
