/** Decodes the payload of a request, identifies its payment, and hashes it to detect a retry with changed content. */
import { canonicalJson, operationDigest, sha256Hex } from '../../base/canonical.ts'
import { toNamed, type NamedOperation, type Operation } from '../operation/operation.ts'
import type { ResponseRecord } from '../../store/log/record.ts'
import { PAYMENT_IDENTIFIER } from './extensions.ts'
import { parsePaymentHeaders, type Payment } from './headers.ts'

/** A payment that was sent. Terms, times and signature are not checked yet. */
export interface DecodedPayload {
  readonly payment: Payment
  readonly identity: string
  /** The id that the client gave this payment (`payment-identifier`), prefixed with the payer. */
  readonly id: string | undefined
  /**
   * The hash of the payload and the digest of the operation, to which the payment is bound. Computed at the first call.
   */
  readonly bind: () => Pick<ResponseRecord, 'payment_hash' | 'operation_digest'> & { operation: NamedOperation }
}

export function decodePayload(headers: readonly string[], operation: Operation) {
  const parsed = parsePaymentHeaders(headers)
  if (parsed.kind !== 'payment') return parsed
  const { payment, json } = parsed
  // Only a payment that has a record or passes the local checks is hashed (`bench perf`, rows "forged").
  let binding: ReturnType<DecodedPayload['bind']> | undefined
  const named = toNamed(operation)
  const bind = () =>
    (binding ??= {
      payment_hash: sha256Hex(canonicalJson(json)),
      operation_digest: operationDigest(named),
      operation: named,
    })
  return { kind: 'payment', payment, identity: paymentIdentity(payment), id: paymentIdKey(payment), bind } as const
}

/** Whether the record is that of this payload and this operation. Otherwise the payment belongs to another request. */
export function isBoundTo(record: ResponseRecord, { bind }: DecodedPayload): boolean {
  const { payment_hash, operation_digest } = bind()
  return record.payment_hash === payment_hash && record.operation_digest === operation_digest
}

/**
 * Network, asset, payer and nonce. The token accepts each such combination at most once. In lower case, because the
 * same address or nonce can be written in upper or lower case.
 */
export function paymentIdentity({ accepted, payload: { authorization } }: Payment): string {
  return [accepted.network, accepted.asset, authorization.from, authorization.nonce].join('/').toLowerCase()
}

/** What the identities of all payments of a payer begin with. */
export function payerPrefixOf(identity: string): string {
  return identity.slice(0, identity.lastIndexOf('/') + 1)
}

/** The payment id of the client, scoped to the payer so that different payers may use the same id. */
function paymentIdKey({ extensions, payload }: Payment): string | undefined {
  const id = extensions?.[PAYMENT_IDENTIFIER]?.info.id
  return id === undefined ? undefined : `${payload.authorization.from.toLowerCase()}/${id}`
}
