/** What a payment is known by, and what else has to be equal for it to be the same payment (decisions 5). */
import { canonicalJson, sha256Hex } from '../operation/canonical.ts'
import { paymentIdOf } from './extensions.ts'
import type { Payment } from './headers.ts'

/**
 * The identity under which the chain, too, takes a payment at most once: network, asset, payer and nonce, in lower case
 * because hex digits and addresses may be written either way.
 */
export function paymentIdentity(payment: Payment): string {
  return `${payerKey(payment)}/${payment.payload.authorization.nonce.toLowerCase()}`
}

/** What the identities of one payer's payments begin with. */
export function payerKey({ accepted, payload: { authorization } }: Payment): string {
  return [accepted.network, accepted.asset, authorization.from].join('/').toLowerCase()
}

/** The id that the payer gave this payment, with the payer: nobody can take another's. Undefined without one. */
export function paymentIdKey(payment: Payment): string | undefined {
  const id = paymentIdOf(payment)
  return id === undefined ? undefined : `${payment.payload.authorization.from.toLowerCase()}/${id}`
}

/** SHA-256 over the RFC 8785 form of the whole payload as it was parsed, unknown members included. */
export function paymentHash(parsed: unknown): string {
  return sha256Hex(canonicalJson(parsed))
}
