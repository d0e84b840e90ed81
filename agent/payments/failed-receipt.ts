/** The `PAYMENT-RESPONSE` header of a settlement that failed. */
import type { SettleResponse } from '@x402/core/types'
import type { ResponseRecord } from '../../store/record.ts'
import type { QuoteReason } from './quote.ts'
import { recordedPayment } from './recorded-payment.ts'

/** Depends on the record only, so every replay has the same header. x402 requires an empty transaction without a settlement. */
export function failedReceipt(record: ResponseRecord, errorReason: QuoteReason): string {
  const { payment, requirements } = recordedPayment(record)
  const response: SettleResponse = {
    success: false,
    errorReason,
    transaction: '',
    network: requirements.network,
    payer: payment.payload.authorization.from,
  }
  return Buffer.from(JSON.stringify(response)).toString('base64')
}
