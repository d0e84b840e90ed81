/** The payments of the simulation. They come from contract wallets, whose signatures only the facilitator verifies. */
import { sha256Hex } from '../../../store/base/canonical.ts'
import type { AuthorizationFields } from '../../support/payments.ts'
import { lookup } from '../../../agent/operation/lookup.ts'
import type { Operation } from '../../../agent/operation/operation.ts'
import { batch, OPERATIONS } from '../../../agent/operation/operations.ts'
import { amountOf, buildRequirements, buildTerms, type Terms } from '../../../agent/payment/terms.ts'

const PAY_TO = '0x00000000000000000000000000000000000000c2'
export const TERMS: Terms = buildTerms('testnet', PAY_TO, OPERATIONS)

/** The key of a payment on the simulated chain: payer and nonce in lower case. */
export const keyOf = (from: string, nonce: string) => `${from}/${nonce}`.toLowerCase()

/** The lookup of a number, or the batch of several that are separated by spaces. */
export function operationFor(numbers: string): Operation {
  const inputs = numbers.split(' ').map((company_number) => ({ company_number }))
  const [first = {}, ...more] = inputs
  if (more.length === 0) return { definition: lookup, input: first }
  return { definition: batch, input: { operation: 'lookup', inputs } }
}

/** In micro-USDC. */
export function priceOf(numbers: string): bigint {
  return BigInt(amountOf(TERMS, operationFor(numbers)))
}

/** Every batch is of two. */
const PRICES: ReadonlySet<bigint> = new Set([priceOf('1'), priceOf('1 1')])

/** Whether this sum pays for a lookup or for a batch. */
export function isPrice(value: bigint): boolean {
  return PRICES.has(value)
}

export interface SimulatedPayment {
  /** Payer and nonce in lower case, the chain's key. */
  key: string
  /** The key of the response log. */
  identity: string
  header: string
  authorization: AuthorizationFields
}

/**
 * A digest of the authorization, one byte longer than the signature of a plain account. The product leaves such
 * signatures to the facilitator (ERC-1271), which compares the digest. Recovering plain signatures would take most of
 * the time.
 */
export function signatureOf(authorization: AuthorizationFields): string {
  return `0x${sha256Hex(JSON.stringify(authorization)).repeat(3).slice(0, 132)}`
}

export interface PaymentFields {
  from: string
  nonce: string
  validBefore: number
  /** What it buys, see {@link operationFor}. */
  numbers: string
  /** Whether the signature is wrong. */
  isForged?: boolean
  /** Unsigned extra text in the payload. */
  remark?: string
}

export function newNonce(random: () => number): string {
  const words = Array.from({ length: 8 }, () => Math.floor(random() * 2 ** 32))
  return `0x${words.map((word) => word.toString(16).padStart(8, '0')).join('')}`
}

export function paymentOf({
  from,
  nonce,
  validBefore,
  numbers,
  isForged = false,
  remark,
}: PaymentFields): SimulatedPayment {
  const accepted = buildRequirements(TERMS, Number(priceOf(numbers)))
  const authorization: AuthorizationFields = {
    from,
    to: accepted.payTo,
    value: accepted.amount,
    validAfter: '0',
    validBefore: String(validBefore),
    nonce,
  }
  const signature = isForged ? `0x${'99'.repeat(66)}` : signatureOf(authorization)
  const payload = {
    x402Version: 2,
    accepted,
    payload: { authorization, signature },
    ...(remark && { remark }),
  }
  return {
    key: keyOf(from, nonce),
    identity: [accepted.network, accepted.asset, from, nonce].join('/').toLowerCase(),
    header: Buffer.from(JSON.stringify(payload)).toString('base64'),
    authorization,
  }
}
