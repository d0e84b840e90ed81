/** Addresses and keys of accounts: the one that receives payments, and the one that pays for gas. */
import type { Hex } from 'viem'
import * as z from 'zod'

export const ADDRESS_PATTERN = /^0x[0-9a-fA-F]{40}$/
/** An address in any case. */
export const addressSchema = z.string().regex(ADDRESS_PATTERN)

/** Whether two addresses are the same. The case of their digits is only a checksum. */
export function isSameAddress(one: string | null | undefined, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase()
}

/** The order of secp256k1 (SEC 2, section 2.4.1). */
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** A key and a line end. A larger file is not a key file. */
export const KEY_FILE_BYTES_MAX = 128

/** A secp256k1 private key in hex. */
export function isPrivateKey(text: string): text is Hex {
  if (!/^0x[0-9a-fA-F]{64}$/.test(text)) return false
  const number = BigInt(text)
  return number > 0n && number < CURVE_ORDER
}
