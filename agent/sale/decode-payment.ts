/** The payment of a request, with what identifies it. */
import { operationDigest } from '../json/canonical.ts'
import type { Operation } from '../operation/operation.ts'
import { paymentHash, paymentIdentity, paymentIdKey, type PaymentBinding } from '../payment/binding.ts'
import { parsePaymentHeaders, type ParsedPayment, type Payment } from '../payment/headers.ts'

/** A payment that was sent. Terms, times and signature are not checked yet. */
export interface SentPayment {
  readonly kind: 'payment'
  readonly payment: Payment
  readonly identity: string
  /** The id that the client gave this payment (`payment-identifier`), prefixed with the payer. */
  readonly id: string | undefined
  /** The hash of the payload and the digest of the operation in this request. Computed at the first call. */
  readonly bind: () => PaymentBinding
}

export type DecodedPayment = Extract<ParsedPayment, { kind: 'unreadable' }> | SentPayment

export function decodePayment(headers: readonly string[], operation: Operation): DecodedPayment | { kind: 'none' } {
  const parsed = parsePaymentHeaders(headers)
  if (parsed.kind !== 'payment') return parsed
  const { payment, sent } = parsed
  // Only a payment that has a record or passes the local checks is hashed (`bench perf`, rows "forged").
  let binding: PaymentBinding | undefined
  const bind = () =>
    (binding ??= { payment_hash: paymentHash(sent), operation_digest: operationDigest(operation), operation })
  return { kind: 'payment', payment, identity: paymentIdentity(payment), id: paymentIdKey(payment), bind }
}
