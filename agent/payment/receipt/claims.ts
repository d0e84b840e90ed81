/**
 * The claims of a payment receipt, a JWT that binds a delivered answer to its payment (contract 5.9). The extension
 * `offer-receipt` of x402 is not used, because its receipts name neither amount nor answer.
 */
import * as z from 'zod'
import { addressSchema } from '../accounts.ts'
import { digestSchema } from '../../../base/digest.ts'
import { canonicalJson, sha256Hex } from '../../../base/canonical.ts'

/** The member of `extensions` in a `PAYMENT-RESPONSE`. */
export const RECEIPT_EXTENSION = 'payment-receipt'
/** The member of `_meta` in an MCP result that has the settlement response. */
export const PAYMENT_RESPONSE_META = 'x402/payment-response'
/** The `typ` of the JWT, so that no other JWT of the same key is taken for a receipt. */
export const RECEIPT_TYPE = 'payment-receipt+jwt'
export const RECEIPT_ALGORITHM = 'ES256'

/** A longer operation is named by its digest only, so that the header stays below 4 KiB (contract 5.9.1). */
export const OPERATION_BYTES_MAX = 768

const bytes32 = z.string().regex(/^0x[0-9a-fA-F]{64}$/)

export const receiptClaimsSchema = z.object({
  /** The base URL of the service. */
  iss: z.url({ protocol: /^https?$/ }),
  /** The time of the signature, in seconds since 1970. */
  iat: z.int().nonnegative(),
  /** The payment identity: network, asset, payer and nonce, in lower case. */
  jti: z.string(),
  /** The operation that was bought, with its canonical input. */
  operation: z.looseObject({ operation: z.string(), input: z.record(z.string(), z.unknown()) }).optional(),
  operation_digest: digestSchema,
  answer_digest: digestSchema,
  snapshot_id: digestSchema,
  matching_version: z.string().optional(),
  payment: z.object({
    network: z.string(),
    asset: addressSchema,
    payer: addressSchema,
    pay_to: addressSchema,
    /** In the smallest unit of the asset, decimal digits. */
    amount: z.string().regex(/^[0-9]{1,78}$/),
    nonce: bytes32,
    transaction: bytes32,
  }),
})

export type ReceiptClaims = z.infer<typeof receiptClaimsSchema>

/** `sha256:` and the SHA-256 of the RFC 8785 form, so that white space and the order of members do not count. */
export function jsonDigest(value: unknown): string {
  return `sha256:${sha256Hex(canonicalJson(value))}`
}
