/**
 * The receipt of a paid record, stored in the same write as `settled`. If signing failed, the next replay adds the
 * receipt.
 */
import { decodeJwt } from 'jose'
import type { ResponseRecord } from '../../store/log/record.ts'
import { isPaid } from '../../store/log/states.ts'
import { canonicalJson } from '../../base/canonical.ts'
import { RECEIPT_EXTENSION, jsonDigest, OPERATION_BYTES_MAX, type ReceiptClaims } from '../payment/receipt/claims.ts'
import { decodeSettlement } from '../payment/headers.ts'
import { recordedPayment } from '../payment/recorded-payment.ts'
import type { SettlementServices } from './services.ts'

type Issuer = Pick<SettlementServices, 'now' | 'report' | 'signReceipt'>

/**
 * The recorded receipt if it names this transaction, else a new one. Undefined if the signature fails. The answer is
 * then delivered without a receipt.
 */
export async function receiptFor(
  { signReceipt, now, report }: Issuer,
  record: ResponseRecord,
  transaction: string,
): Promise<string | undefined> {
  const { receipt } = record
  if (receipt !== undefined && decodeJwt<ReceiptClaims>(receipt).payment.transaction === transaction) return receipt
  try {
    const iat = Math.floor(now().getTime() / 1000)
    return await signReceipt({ iat, ...describeSale(record, transaction) })
  } catch (cause) {
    report('receipt_not_issued', cause)
    return undefined
  }
}

function describeSale(record: ResponseRecord, transaction: string) {
  const { payment, requirements } = recordedPayment(record)
  const { from: payer, nonce } = payment.payload.authorization
  const { network, asset, payTo: pay_to, amount } = requirements
  const answer = JSON.parse(record.body) as { matching_version?: string }
  const canonical = canonicalJson(record.operation)
  const isShort = Buffer.byteLength(canonical) <= OPERATION_BYTES_MAX
  return {
    jti: record.identity,
    ...(isShort && { operation: JSON.parse(canonical) as ReceiptClaims['operation'] }),
    operation_digest: `sha256:${record.operation_digest}`,
    answer_digest: jsonDigest(answer),
    snapshot_id: record.snapshot_id,
    ...(answer.matching_version !== undefined && { matching_version: answer.matching_version }),
    payment: { network, asset, payer, pay_to, amount, nonce, transaction },
  }
}

/** Adds a receipt to a paid record that has none, and returns the current record. */
export async function addMissingReceipt(services: SettlementServices, record: ResponseRecord): Promise<ResponseRecord> {
  const { payment_response } = record
  if (!isPaid(record.state) || record.receipt !== undefined || payment_response === null) return record
  try {
    const { transaction } = decodeSettlement(payment_response) as { transaction: string }
    const receipt = await receiptFor(services, record, transaction)
    if (receipt === undefined) return record
    const { state, updated_at } = record
    const added = await services.log.advance(record, { state, receipt, updated_at })
    return added ?? (await services.log.read(record.identity)) ?? record
  } catch (cause) {
    services.report('receipt_not_issued', cause)
    return record
  }
}

/** Adds the receipt to a `PAYMENT-RESPONSE` header, as an extension of the settlement response. */
export function withReceipt(paymentResponse: string, receipt: string | undefined): string {
  if (receipt === undefined) return paymentResponse
  const json = Buffer.from(paymentResponse, 'base64').toString()
  const extensions = JSON.stringify({ [RECEIPT_EXTENSION]: { info: { receipt } } })
  return Buffer.from(`${json.slice(0, -1)},"extensions":${extensions}}`).toString('base64')
}
