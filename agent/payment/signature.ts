/**
 * Recovers the signer of an EIP-3009 TransferWithAuthorization: EIP-712 digest with a fixed layout, and public key
 * recovery. viem takes about ten times as long (`bench perf`, row "paid lookup"). The tests compare both.
 */
import { createKeccak } from 'hash-wasm'
import { domainSeparator } from 'viem'
import { EOA_SIGNATURE_BYTES, type TransferAuthorization } from './headers.ts'
import { keyRecovery } from './key-recovery.ts'
import type { Terms } from './terms.ts'

/** Half the order of secp256k1. USDC rejects signatures with a larger s (EIP-2). */
const LOW_S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/** Keccak-256 in WebAssembly. JavaScript is slower (`bench perf`, row "paid lookup"). */
const hasher = await createKeccak(256)

const WORD_BYTES = 32
const TYPE_HASH = keccak256(
  'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
)
/** The prefix of an EIP-712 digest. */
const PREFIX = '1901'

/** Terms never change while the process runs. */
const domainSeparators = new WeakMap<Terms, string>()

/** 64 hex digits. Text is hashed as UTF-8. */
function keccak256(data: string | Uint8Array): string {
  return hasher.init().update(data).digest()
}

/** 64 hex digits. */
function separatorOf(terms: Terms): string {
  const { domain, chainId, asset } = terms
  const separator =
    domainSeparators.get(terms) ??
    domainSeparator({ domain: { ...domain, chainId, verifyingContract: asset } }).slice(2)
  domainSeparators.set(terms, separator)
  return separator
}

/** The EIP-712 digest. Each member is one 32-byte word, in the order of the type. */
function signedDigest(authorization: TransferAuthorization, terms: Terms): Uint8Array {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const numbers = [value, validAfter, validBefore].map((decimal) => BigInt(decimal).toString(16))
  const words = [TYPE_HASH, from.slice(2), to.slice(2), ...numbers, nonce.slice(2)]
  const message = Buffer.from(words.map((word) => word.padStart(2 * WORD_BYTES, '0')).join(''), 'hex')
  const data = Buffer.from(PREFIX + separatorOf(terms) + keccak256(message), 'hex')
  return hasher.init().update(data).digest('binary')
}

/** Whether the token accepts the form of an EOA signature: low s, and v of 27 or 28. The curve allows more. */
function isAcceptedByToken(signature: string): boolean {
  const s = BigInt(`0x${signature.slice(66, 130)}`)
  const v = Number.parseInt(signature.slice(130), 16)
  return s <= LOW_S_MAX && (v === 27 || v === 28)
}

/** The address of the signer in lower case. Undefined if the signature is invalid. */
export function recoverSigner(
  { authorization, signature }: { authorization: TransferAuthorization; signature: string },
  terms: Terms,
): string | undefined {
  // Contract wallets have longer signatures.
  if (signature.length !== 2 + 2 * EOA_SIGNATURE_BYTES || !isAcceptedByToken(signature)) return undefined
  const bytes = Buffer.from(signature.slice(2), 'hex')
  const key = recoverKey(signedDigest(authorization, terms), bytes.subarray(0, 64), bytes[64] === 27 ? 0 : 1)
  // An address is the last 20 bytes of the hash of the uncompressed key without its first byte.
  return key ? `0x${keccak256(key.subarray(1)).slice(-40)}` : undefined
}

/** Null if r or s is zero or too large, or if the point is not on the curve. */
function recoverKey(digest: Uint8Array, signature: Uint8Array, recoveryId: 0 | 1): Uint8Array | null {
  try {
    return keyRecovery.recover(digest, signature, recoveryId)
  } catch {
    return null
  }
}
