/**
 * Parses the `PAYMENT-SIGNATURE` header and rejects everything that is not exactly an x402 v2 EIP-3009 payment. The codec
 * of x402 alone also accepts invalid UTF-8, `null`, and payloads of other schemes.
 */
import { isUtf8 } from 'node:buffer'
import { decodePaymentSignatureHeader } from '@x402/core/http'
import { z } from 'zod'
import { areExtensionsValid } from './extensions.ts'
import type { QuoteReason } from './quote.ts'
import { X402_VERSION } from './terms.ts'

/** A payment for the longest quote stays under 4 KiB. Many proxies accept headers of up to 8 KiB. */
const PAYMENT_HEADER_BYTES_MAX = 8192
/** The signature of an externally owned account (EOA): r, s, v. */
export const EOA_SIGNATURE_BYTES = 65
/** Contract wallets (ERC-1271) have longer signatures. */
const SIGNATURE_BYTES_MAX = 2048
/** Deeper than every known extension needs, and safe for recursive functions. */
const DEPTH_MAX = 24

const UINT256_MAX = 2n ** 256n - 1n
const UTF8_BOM = Buffer.from([0xef, 0xbb, 0xbf])

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
/** Decimal text only, because facilitators treat numbers, hex, signs, spaces and leading zeros differently. */
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
  signature: z.string().regex(new RegExp(`^0x([0-9a-fA-F]{2}){${EOA_SIGNATURE_BYTES},${SIGNATURE_BYTES_MAX}}$`)),
  authorization: authorizationSchema,
})

/** Unknown members of loose objects have no effect, but the payment hash covers them. */
export const paymentSchema = z.looseObject({
  x402Version: z.literal(X402_VERSION),
  accepted: z.looseObject({ network: z.string().min(1).max(64), asset: address }),
  payload: payloadSchema,
  resource: z.looseObject({ url: z.string().max(4096) }).optional(),
  extensions: z.record(z.string(), z.unknown()).refine(areExtensionsValid).optional(),
})

export type Payment = z.infer<typeof paymentSchema>
export type TransferAuthorization = z.infer<typeof authorizationSchema>

export type ParsedPayment =
  | { kind: 'none' }
  | { kind: 'unreadable'; reason: QuoteReason }
  | { kind: 'payment'; payment: Payment; /** The payload as parsed, for its hash. */ parsed: unknown }

/** Takes every `PAYMENT-SIGNATURE` header of a request. More than one is an error. */
export function parsePaymentHeaders(headers: readonly string[]): ParsedPayment {
  const [header] = headers
  if (header === undefined) return { kind: 'none' }
  const parsed = headers.length === 1 ? decodeHeader(header) : undefined
  if (!isJsonObject(parsed) || !isPlainJson(parsed)) return { kind: 'unreadable', reason: 'invalid_payload' }
  if (parsed['x402Version'] !== X402_VERSION) return { kind: 'unreadable', reason: 'invalid_x402_version' }
  const payment = paymentSchema.safeParse(parsed)
  if (!payment.success) return { kind: 'unreadable', reason: 'invalid_payload' }
  return { kind: 'payment', payment: payment.data, parsed }
}

function decodeHeader(header: string): unknown {
  if (header.length > PAYMENT_HEADER_BYTES_MAX) return undefined
  const bytes = Buffer.from(header, 'base64')
  // Node also decodes the URL-safe alphabet and skips invalid characters. Only standard base64 encodes to the same text.
  if (bytes.length === 0 || bytes.toString('base64') !== header || !isUtf8WithoutBom(bytes)) return undefined
  try {
    return decodePaymentSignatureHeader(header)
  } catch {
    return undefined
  }
}

/** Checked on the bytes, because the decoder replaces invalid UTF-8 and drops a byte order mark. */
function isUtf8WithoutBom(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.subarray(0, UTF8_BOM.length).equals(UTF8_BOM)
}

function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** No `__proto__` member, lone surrogate, infinite number or deep nesting at any level. */
function isPlainJson(value: unknown, depth = 0): boolean {
  // JSON.parse reads 1e400 as infinity, which has no canonical form to hash.
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  if (depth >= DEPTH_MAX) return false
  return Object.entries(value).every(
    ([key, member]) => key !== '__proto__' && isPlainJson(key) && isPlainJson(member, depth + 1),
  )
}
