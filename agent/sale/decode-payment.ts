/** Decodes the payment of a request: its identity at once, the rest and its hash when they are needed. */
import { LRUCache } from 'lru-cache'
import { operationDigest } from '../json/canonical.ts'
import type { Operation } from '../operation/operation.ts'
import { paymentHash, paymentIdentity, paymentIdKey, type PaymentBinding } from '../payment/binding.ts'
import { parsePayment, parsePaymentHeaders, type Payment, type PaymentOutline } from '../payment/headers.ts'
import type { QuoteReason } from '../payment/quote.ts'

/** An entry takes a few kilobytes. A small cache suffices, because buyers retry a lost answer within seconds. */
const REMEMBERED_MAX = 256

/** A payment whose identity is known. Terms, times and signature are not checked yet. */
export interface DecodedPayment {
  readonly kind: 'payment'
  readonly outline: PaymentOutline
  readonly identity: string
  /** The id that the client gave this payment (`payment-identifier`), prefixed with the payer. */
  readonly id: string | undefined
  /** The whole payment with its binding, or undefined if its form is invalid. Computed at the first call. */
  readonly parse: () => BoundPayment | undefined
}

export interface BoundPayment {
  readonly payment: Payment
  /** The hash of the payload and the digest of the operation in this request. Computed at the first call. */
  readonly bind: () => PaymentBinding
}

/** A payment that was sent. */
export type GivenPayment = DecodedPayment | { kind: 'unreadable'; reason: QuoteReason }

export type RequestPayment = GivenPayment | { kind: 'none' }

interface RememberedPayment {
  header: string
  operation: string
  decoded: DecodedPayment
}

/** Looking up a whole header of 8 KiB would cost as much as parsing it. Equal keys of different headers are harmless. */
const KEY_CHARACTERS = 64

/**
 * Caches decoded payments that have bought an answer. A replay sends the same header for the same operation, and the
 * benchmark row `replay` is more than 10 % slower without the cache. Decoding does not depend on time or on the log.
 */
export class PaymentDecoder {
  readonly #remembered = new LRUCache<string, RememberedPayment>({ max: REMEMBERED_MAX })

  decode(headers: readonly string[], operation: Operation): RequestPayment {
    const [header] = headers
    const known = header !== undefined && headers.length === 1 ? this.#remembered.get(cacheKey(header)) : undefined
    if (known?.header === header && known?.operation === JSON.stringify(operation)) return known.decoded
    return decodePayment(headers, operation)
  }

  /** Call for payments with an answer only, so that unpaid requests cannot fill the cache. */
  remember([header]: readonly string[], operation: Operation, payment: RequestPayment): void {
    if (header === undefined || payment.kind !== 'payment') return
    const key = cacheKey(header)
    if (this.#remembered.get(key)?.decoded === payment) return
    this.#remembered.set(key, { header, operation: JSON.stringify(operation), decoded: payment })
  }
}

/** Hashing costs more than the other local checks, so only a payment that has a record or passes them is hashed. */
function decodePayment(headers: readonly string[], operation: Operation): RequestPayment {
  const header = parsePaymentHeaders(headers)
  if (header.kind !== 'payment') return header
  const { outline, json } = header
  const parse = once(() => {
    const whole = parsePayment(json)
    return whole && { payment: whole.payment, bind: once(() => bindPayment(whole.parsed, operation)) }
  })
  return { kind: 'payment', outline, identity: paymentIdentity(outline), id: paymentIdKey(outline), parse }
}

/** Characters from the middle, because payments often begin and end alike. */
function cacheKey(header: string): string {
  const start = Math.floor(header.length / 2)
  return header.slice(start, start + KEY_CHARACTERS)
}

function bindPayment(parsed: unknown, operation: Operation): PaymentBinding {
  return { payment_hash: paymentHash(parsed), operation_digest: operationDigest(operation), operation }
}

function once<T>(compute: () => T): () => T {
  let computed: { value: T } | undefined
  return () => (computed ??= { value: compute() }).value
}
