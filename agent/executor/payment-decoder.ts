/** Decodes the payment of a request, with its identity, its hash and the digest of the operation. */
import { LRUCache } from 'lru-cache'
import { operationDigest } from '../operation/canonical.ts'
import type { Operation } from '../operation/schema.ts'
import { paymentHash, paymentIdentity, paymentIdKey } from '../payments/binding.ts'
import { parsePaymentHeaders, type Payment } from '../payments/headers.ts'
import type { QuoteReason } from '../payments/quote.ts'

/** An entry takes a few kilobytes. A small cache suffices, because buyers retry a lost answer within seconds. */
const REMEMBERED_MAX = 256

/** A payment of valid form. Terms, times and signature are not checked yet. */
export interface DecodedPayment {
  readonly kind: 'payment'
  readonly payment: Payment
  readonly identity: string
  /** The id that the client gave this payment (`payment-identifier`), prefixed with the payer. */
  readonly id: string | undefined
  readonly hash: string
  /** Digest of the operation in this request. */
  readonly digest: string
}

export type RequestPayment = DecodedPayment | { kind: 'none' } | { kind: 'unreadable'; reason: QuoteReason }

/**
 * Caches decoded payments that have bought an answer. A replay sends the same header for the same operation, and the
 * benchmark row `replay` is more than 10 % slower without the cache. Decoding does not depend on time or on the log.
 */
export class PaymentDecoder {
  readonly #remembered = new LRUCache<string, { operation: string; decoded: DecodedPayment }>({ max: REMEMBERED_MAX })

  decode(headers: readonly string[], operation: Operation): RequestPayment {
    const [header] = headers
    const known = header !== undefined && headers.length === 1 ? this.#remembered.get(header) : undefined
    return known?.operation === JSON.stringify(operation) ? known.decoded : decodePayment(headers, operation)
  }

  /** Call for payments with an answer only, so that unpaid requests cannot fill the cache. */
  remember([header]: readonly string[], operation: Operation, payment: RequestPayment): void {
    if (header === undefined || payment.kind !== 'payment') return
    if (this.#remembered.get(header)?.decoded === payment) return
    this.#remembered.set(header, { operation: JSON.stringify(operation), decoded: payment })
  }
}

function decodePayment(headers: readonly string[], operation: Operation): RequestPayment {
  const parsed = parsePaymentHeaders(headers)
  if (parsed.kind !== 'payment') return parsed
  const { payment } = parsed
  return {
    kind: 'payment',
    payment,
    identity: paymentIdentity(payment),
    id: paymentIdKey(payment),
    hash: paymentHash(parsed.parsed),
    digest: operationDigest(operation),
  }
}
