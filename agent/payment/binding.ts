/** Identifies a payment, and hashes it to detect a retry with changed content. */
import { canonicalJson, sha256Hex } from '../json/canonical.ts'
import type { Operation } from '../operation/operation.ts'
import type { ResponseRecord } from '../../store/log/record.ts'
import { readPaymentId } from './extensions.ts'
import type { Payment } from './headers.ts'

/** What a payment is bound to: the content of its payload and the operation. */
export type PaymentBinding = Pick<ResponseRecord, 'payment_hash' | 'operation_digest'> & { operation: Operation }

/** Whether the record is that of this payload and this operation. Otherwise the payment belongs to another request. */
export function isBoundTo(
  record: ResponseRecord,
  { payment_hash, operation_digest }: Omit<PaymentBinding, 'operation'>,
) {
  return record.payment_hash === payment_hash && record.operation_digest === operation_digest
}

/**
 * Network, asset, payer and nonce. The token accepts each such combination at most once. In lower case, because the
 * same address or nonce can be written in upper or lower case.
 */
export function paymentIdentity(payment: Payment): string {
  return `${payerKey(payment)}/${payment.payload.authorization.nonce.toLowerCase()}`
}

/** The common prefix of all payment identities of one payer. */
function payerKey({ accepted, payload: { authorization } }: Payment): string {
  return [accepted.network, accepted.asset, authorization.from].join('/').toLowerCase()
}

/** The payment id of the client, scoped to the payer so that different payers may use the same id. */
export function paymentIdKey(payment: Payment): string | undefined {
  const id = readPaymentId(payment)
  return id === undefined ? undefined : `${payment.payload.authorization.from.toLowerCase()}/${id}`
}

/** SHA-256 of the RFC 8785 form of the whole payload as sent, including unknown members. */
export function paymentHash(sent: unknown): string {
  return sha256Hex(canonicalJson(sent))
}
