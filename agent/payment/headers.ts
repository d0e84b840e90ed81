/** Parses the headers of x402. Terms, times and signature of a payment are checked later. */
import * as z from 'zod'
import { parseRequest } from '../../base/strict-json.ts'
import { addressSchema } from './accounts.ts'
import { PAYMENT_IDENTIFIER, sentExtensionsSchema } from './extensions.ts'
import type { QuoteReason } from '../operation/outcome.ts'
import type { Refusal } from '../operation/refusal.ts'
import { X402_VERSION } from './terms.ts'

/** A payment for the longest quote stays under 4 KiB. Many proxies accept headers of up to 8 KiB. */
export const PAYMENT_HEADER_BYTES_MAX = 8192
/** The signature of an externally owned account (EOA): r, s, v. */
export const EOA_SIGNATURE_BYTES = 65
/** Contract wallets (ERC-1271) have longer signatures. */
const SIGNATURE_BYTES_MAX = 2048
/**
 * The most colons, commas and opening brackets of a payment, because many short values make `JSON.parse` slow. A
 * payment that repeats the extensions of the quote has 190.
 */
export const PAYMENT_MARKS_MAX = 300

const UINT256_MAX = 2n ** 256n - 1n

const NONCE = /^0x[0-9a-fA-F]{64}$/
/** Decimal text only, because facilitators treat numbers, hex, signs, spaces and leading zeros differently. */
const DECIMAL = /^(0|[1-9][0-9]{0,77})$/
const isUint256 = (decimal: string) => BigInt(decimal) <= UINT256_MAX
/** Longer than every network id of CAIP-2, which has at most 41 characters. */
const NETWORK_CHARACTERS_MAX = 64

const uint256 = z.string().regex(DECIMAL, { abort: true }).refine(isUint256)

/** Other members are dropped: some facilitators choose their method by them. */
export const authorizationSchema = z.object({
  from: addressSchema,
  to: addressSchema,
  value: uint256,
  validAfter: uint256,
  validBefore: uint256,
  nonce: z.string().regex(NONCE),
})

/** Other members are dropped as well. */
const payloadSchema = z.object({
  // The length is not in the pattern, because RE2 counts only to 1,000.
  signature: z
    .string()
    .min(2 + 2 * EOA_SIGNATURE_BYTES)
    .max(2 + 2 * SIGNATURE_BYTES_MAX)
    .regex(/^0x([0-9a-fA-F]{2})*$/),
  authorization: authorizationSchema,
})

const acceptedSchema = z.looseObject({ network: z.string().min(1).max(NETWORK_CHARACTERS_MAX), asset: addressSchema })

/** A facilitator can fail to read another value, also `null`. */
const optionalText = z.string().optional().catch(undefined)

/** Unknown members are dropped, also for facilitators, except in `extensions`. The payment hash covers them too. */
export const paymentPayloadSchema = z.object({
  x402Version: z.literal(X402_VERSION),
  accepted: acceptedSchema,
  payload: payloadSchema,
  resource: z.object({ url: z.string().min(1).max(4096), description: optionalText, mimeType: optionalText }).nullish(),
  extensions: sentExtensionsSchema.nullish(),
})

export type Payment = z.infer<typeof paymentPayloadSchema>
export type TransferAuthorization = z.infer<typeof authorizationSchema>

type ParsedPayment =
  | { kind: 'none' }
  | { kind: 'unreadable'; reason: QuoteReason; fault: Pick<Refusal, 'field' | 'detail'> }
  | { kind: 'payment'; payment: Payment; /** The payload as sent, for its hash. */ json: unknown }

/** Takes every `PAYMENT-SIGNATURE` header of a request. More than one is an error. */
export function parsePaymentHeaders(headers: readonly string[]): ParsedPayment {
  const [header] = headers
  if (header === undefined) return { kind: 'none' }
  const json = headers.length === 1 ? decodeHeader(header) : undefined
  const parsed = paymentPayloadSchema.safeParse(isPlainJson(json) ? json : undefined)
  if (parsed.success) {
    const payment = parsed.data
    // Facilitators read other extensions too. The schema does not keep them, because copying a hundred is slow.
    if (payment.extensions) payment.extensions = (json as Payment).extensions
    return { kind: 'payment', payment, json }
  }
  const names = parsed.error.issues.map(({ path }) => (path.includes(PAYMENT_IDENTIFIER) ? path[1] : path.at(-1)))
  if (names.includes('x402Version'))
    return { kind: 'unreadable', reason: 'invalid_x402_version', fault: { field: 'x402Version' } }
  // All names are those of the schema, never input.
  const field = names[0]?.toString()
  return { kind: 'unreadable', reason: 'invalid_payload', fault: field === undefined ? NOT_DECODED : { field } }
}

const NOT_DECODED = {
  detail: `send one header, with JSON in standard base64, of at most ${PAYMENT_HEADER_BYTES_MAX} bytes`,
}

/** The settlement in the value of a `PAYMENT-RESPONSE` header that the service has made. */
export function decodeSettlement(paymentResponse: string): unknown {
  return JSON.parse(Buffer.from(paymentResponse, 'base64').toString())
}

/**
 * Undefined unless the header is standard base64 of JSON within the limits. Node also decodes other alphabets, and
 * skips invalid characters.
 */
function decodeHeader(header: string): unknown {
  if (header.length > PAYMENT_HEADER_BYTES_MAX) return undefined
  const bytes = Buffer.from(header, 'base64')
  if (bytes.toString('base64') !== header) return undefined
  const json = parseRequest(bytes, PAYMENT_MARKS_MAX)
  return json.kind === 'valid' ? json.value : undefined
}

/** No `__proto__` member, lone surrogate or infinite number at any level. */
function isPlainJson(value: unknown): boolean {
  // JSON.parse reads 1e400 as infinity, which has no canonical form to hash.
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value !== 'object' || value === null) return true
  // `Object.entries` takes four times as long for a hundred members (`bench perf`, rows "forged").
  const isPlainMember = (name: string) =>
    name !== '__proto__' && name.isWellFormed() && isPlainJson((value as Record<string, unknown>)[name])
  return Object.keys(value).every(isPlainMember)
}
