/**
 * Reads the `PAYMENT-SIGNATURE` header, strictly: what is not exactly an x402 v2 payment of ours is refused here, before
 * anything is looked up. The stock decoder takes two headers, bad UTF-8, `null` and Permit2 payloads.
 */
import { z } from 'zod'
import { areExtensionsValid } from './extensions.ts'
import type { Reason } from './quote.ts'
import { X402_VERSION } from './terms.ts'

/** Our longest quote leads to under 4 KiB of payment; proxies stop at 8. */
const PAYMENT_HEADER_BYTES_MAX = 8192
/** A plain account's signature: r, s, v. */
export const PLAIN_SIGNATURE_BYTES = 65
/** ERC-1271 contract wallets sign longer. */
const SIGNATURE_BYTES_MAX = 2048
/** Deeper than any extension block, shallow enough for every recursive reader. */
const DEPTH_MAX = 24

const UINT256_MAX = 2n ** 256n - 1n

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
/** Decimal text only: numbers, hex, signs, blanks and leading zeros pass stock facilitators and read differently elsewhere. */
const uint256 = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,77})$/, { abort: true })
  .refine((value) => BigInt(value) <= UINT256_MAX)

const authorizationSchema = z.strictObject({
  from: address,
  to: address,
  value: uint256,
  validAfter: uint256,
  validBefore: uint256,
  nonce: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
})

const payloadSchema = z.strictObject({
  signature: z.string().regex(new RegExp(`^0x([0-9a-fA-F]{2}){${PLAIN_SIGNATURE_BYTES},${SIGNATURE_BYTES_MAX}}$`)),
  authorization: authorizationSchema,
})

/** Unknown members beside these are kept and hashed with the rest; they mean nothing to us. */
export const paymentSchema = z.looseObject({
  x402Version: z.literal(X402_VERSION),
  accepted: z.looseObject({ network: z.string().min(1).max(64), asset: address }),
  payload: payloadSchema,
  resource: z.looseObject({ url: z.string().max(4096) }).optional(),
  extensions: z.record(z.string(), z.unknown()).refine(areExtensionsValid).optional(),
})

export type Payment = z.infer<typeof paymentSchema>
export type Authorization = z.infer<typeof authorizationSchema>

export type ReadPayment =
  | { kind: 'none' }
  | { kind: 'unreadable'; reason: Reason }
  | { kind: 'payment'; payment: Payment; /** The payload as parsed, for its hash. */ parsed: unknown }

/** Reads all `PAYMENT-SIGNATURE` headers of a request, of which there may be one. */
export function readPayment(headers: readonly string[]): ReadPayment {
  const [header] = headers
  if (header === undefined) return { kind: 'none' }
  const parsed = headers.length === 1 ? decodeJson(header) : undefined
  if (!isJsonObject(parsed) || !isPlain(parsed)) return { kind: 'unreadable', reason: 'invalid_payload' }
  if (parsed['x402Version'] !== X402_VERSION) return { kind: 'unreadable', reason: 'invalid_x402_version' }
  const payment = paymentSchema.safeParse(parsed)
  if (!payment.success) return { kind: 'unreadable', reason: 'invalid_payload' }
  return { kind: 'payment', payment: payment.data, parsed }
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeJson(header: string): unknown {
  if (header.length > PAYMENT_HEADER_BYTES_MAX) return undefined
  const bytes = Buffer.from(header, 'base64')
  // Node skips what is not base64 and takes the URL-safe alphabet; only the standard form comes out the same again.
  if (bytes.length === 0 || bytes.toString('base64') !== header) return undefined
  try {
    return JSON.parse(UTF_8.decode(bytes))
  } catch {
    return undefined
  }
}

function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** No `__proto__` member, no lone surrogate, no number beyond a double and no bottomless nesting, anywhere. */
function isPlain(value: unknown, depth = 0): boolean {
  // JSON's 1e400 is read as infinity, which has no canonical form to hash.
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (depth >= DEPTH_MAX) return false
  return Object.entries(value).every(
    ([key, member]) => key !== '__proto__' && isPlain(key) && isPlain(member, depth + 1),
  )
}
