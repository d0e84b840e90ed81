/** The `PAYMENT-RESPONSE` header. It depends on the record only, so every replay has the same one. */
import type { SettleResponse } from '@x402/core/types'
import type { ResponseRecord } from '../../store/log/record.ts'
import type { QuoteReason } from '../operation/outcome.ts'
import { recordedPayment } from './recorded-payment.ts'

export function settledResponse(record: ResponseRecord, transaction: string): string {
  const { payment, requirements } = recordedPayment(record)
  const { network, amount } = requirements
  return encode({ success: true, transaction, network, payer: payment.payload.authorization.from, amount })
}

/** x402 requires an empty transaction without a settlement. */
export function failedResponse(record: ResponseRecord, errorReason: QuoteReason): string {
  const { payment, requirements } = recordedPayment(record)
  const { network } = requirements
  return encode({ success: false, errorReason, transaction: '', network, payer: payment.payload.authorization.from })
}

/** The same text as encodePaymentResponseHeader of @x402/core, which a test compares. Its base64 is much slower. */
function encode(response: SettleResponse): string {
  return Buffer.from(JSON.stringify(response)).toString('base64')
}
