/** Receipts without a signature, for tests and simulations of the code around them. */
import { Buffer } from 'node:buffer'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { RECEIPT_EXTENSION, type ReceiptClaims } from '../../agent/payment/receipt/claims.ts'

/**
 * A text in the form of a receipt. Pass a different `signature` for each receipt, because each ES256 signature differs.
 */
export function writeUnsigned(claims: Partial<ReceiptClaims>, signature: string): string {
  return ['e30', Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.')
}

/** The receipt in a `PAYMENT-RESPONSE` header. */
export function receiptIn(paymentResponse: string): string | undefined {
  const extension = decodePaymentResponseHeader(paymentResponse).extensions?.[RECEIPT_EXTENSION]
  return (extension as { info: { receipt: string } } | undefined)?.info.receipt
}

/** The claims of a receipt. Its signature is not checked. */
export function claimsOf(receipt: string): ReceiptClaims {
  const [, payload = ''] = receipt.split('.')
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as ReceiptClaims
}
