/**
 * The payment of a record, and its `PAYMENT-RESPONSE`, which depends on the record only, so every replay has the same
 * one.
 */
import type { PaymentRequirements, SettleResponse } from '@x402/core/types'
import type { ResponseRecord } from '../../store/log/record.ts'
import type { QuoteReason } from '../operation/outcome.ts'
import type { Payment } from './headers.ts'
import { unwrapSignature } from './wrapped-signature.ts'

/** Not validated, because the checksum of the record shows that the service wrote them. */
export function recordedPayment({ payment, requirements }: ResponseRecord) {
  return { payment: payment as Payment, requirements: requirements as PaymentRequirements }
}

/** Whether the facilitator deploys the wallet of the payer, if it has no code yet (ERC-6492). */
export function deploysWallet(record: ResponseRecord): boolean {
  return unwrapSignature(recordedPayment(record).payment.payload.signature)?.deployment !== undefined
}

export function settledResponse(record: ResponseRecord, transaction: string): string {
  const { payment, requirements } = recordedPayment(record)
  const { network, amount } = requirements
  return encode({ success: true, transaction, network, payer: payment.payload.authorization.from, amount })
}

/** x402 requires `transaction: ''` if nothing was settled. */
export function failedResponse(record: ResponseRecord, errorReason: QuoteReason): string {
  const { payment, requirements } = recordedPayment(record)
  const { network } = requirements
  return encode({ success: false, errorReason, transaction: '', network, payer: payment.payload.authorization.from })
}

/** The same text as encodePaymentResponseHeader of @x402/core, whose base64 is much slower. */
function encode(response: SettleResponse): string {
  return Buffer.from(JSON.stringify(response)).toString('base64')
}
