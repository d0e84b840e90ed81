/**
 * Who has signed a TransferWithAuthorization (EIP-3009): its EIP-712 digest in a fixed layout, and the address that a plain
 * account's signature of it recovers. A general EIP-712 encoder and curve arithmetic in JavaScript take 2 ms, in which the
 * process does nothing else; this takes a thirtieth (docs/payments.md). viem, which reads the types, judges it in the tests.
 */
import { createKeccak } from 'hash-wasm'
import secp256k1 from 'secp256k1'
import { encodeAbiParameters, type Hex } from 'viem'
import { PLAIN_SIGNATURE_BYTES, type Authorization } from './headers.ts'
import type { Terms } from './terms.ts'

/** secp256k1's group order, halved: the token refuses a signature's mirror image above it (EIP-2). */
const LOW_S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/** Keccak-256 in WebAssembly: four hashes of it are a payment's, and in JavaScript they cost as much as the curve. */
const hasher = await createKeccak(256)

const WORD_BYTES = 32
const DOMAIN_TYPE = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)'
const TYPE_HASH = keccak256(
  'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
)
/** The mark of structured data, before the domain and the message (EIP-712). */
const PREFIX = '1901'

/** A curve's recovery, so that a test can put the one without native code in its place. */
export type Recover = Pick<typeof secp256k1, 'ecdsaRecover'>

/** Made once for each deployment's terms; they never change while the process runs. */
const domainSeparators = new WeakMap<Terms, string>()

/** 64 hex digits. A text is hashed as UTF-8. */
function keccak256(data: string | Uint8Array): string {
  return hasher.init().update(data).digest()
}

function domainSeparatorOf(terms: Terms): string {
  const known = domainSeparators.get(terms)
  if (known !== undefined) return known
  const { domain, chainId, asset } = terms
  const words = encodeAbiParameters(
    [{ type: 'bytes32' }, { type: 'bytes32' }, { type: 'bytes32' }, { type: 'uint256' }, { type: 'address' }],
    [
      `0x${keccak256(DOMAIN_TYPE)}`,
      `0x${keccak256(domain.name)}`,
      `0x${keccak256(domain.version)}`,
      BigInt(chainId),
      asset.toLowerCase() as Hex,
    ],
  )
  const separator = keccak256(Buffer.from(words.slice(2), 'hex'))
  domainSeparators.set(terms, separator)
  return separator
}

/** What the payer signs. Each member is one word of 32 bytes, in the order of the type. */
function digestOf({ from, to, value, validAfter, validBefore, nonce }: Authorization, terms: Terms): Uint8Array {
  const numbers = [value, validAfter, validBefore].map((decimal) => BigInt(decimal).toString(16))
  const words = [TYPE_HASH, from.slice(2), to.slice(2), ...numbers, nonce.slice(2)]
  const message = Buffer.from(words.map((word) => word.padStart(2 * WORD_BYTES, '0')).join(''), 'hex')
  const data = Buffer.from(PREFIX + domainSeparatorOf(terms) + keccak256(message), 'hex')
  return hasher.init().update(data).digest('binary')
}

/** Whether a signature is one of a plain account, and not of a contract wallet. */
export function isPlain(signature: string): boolean {
  return signature.length === 2 + 2 * PLAIN_SIGNATURE_BYTES
}

/** Whether the token would look at a plain signature at all: low s, and v of 27 or 28. The curve itself takes others. */
export function isTakenByToken(signature: string): boolean {
  const s = BigInt(`0x${signature.slice(66, 130)}`)
  const v = Number.parseInt(signature.slice(130), 16)
  return s <= LOW_S_MAX && (v === 27 || v === 28)
}

/** The address that a plain signature of the authorization recovers, in lower case; undefined when it is nobody's. */
export function recoverSigner(
  { authorization, signature }: { authorization: Authorization; signature: string },
  terms: Terms,
  { ecdsaRecover }: Recover = secp256k1,
): string | undefined {
  if (!isPlain(signature) || !isTakenByToken(signature)) return undefined
  const bytes = Buffer.from(signature.slice(2), 'hex')
  try {
    const key = ecdsaRecover(bytes.subarray(0, 64), (bytes[64] ?? 0) - 27, digestOf(authorization, terms), false)
    // Of the uncompressed key without its first byte, the last 20 bytes of the hash.
    return `0x${keccak256(key.subarray(1)).slice(-40)}`
  } catch {
    // Points that are not on the curve, or r and s of zero.
    return undefined
  }
}
