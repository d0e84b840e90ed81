/** The payments of the simulation. They come from contract wallets, whose signatures only the facilitator verifies. */
import { sha256Hex } from '../../../agent/json/canonical.ts'
import type { AuthorizationFields } from '../../support/payments.ts'
import { buildRequirements, buildTerms, type Terms } from '../../../agent/payment/terms.ts'
import { keyOf } from './keys.ts'

const PAY_TO = '0x00000000000000000000000000000000000000c2'
export const TERMS: Terms = buildTerms('testnet', PAY_TO)
/** The price of a lookup, the only operation that the buyers use, in micro-USDC. */
export const LOOKUP_PRICE = BigInt(TERMS.prices['lookup']!)

export interface SimulatedPayment {
  /** Payer and nonce in lower case, the chain's key. */
  key: string
  /** The key of the response log. */
  identity: string
  /** The id of the extension payment-identifier. */
  id: string | undefined
  header: string
  authorization: AuthorizationFields
}

/**
 * A digest of the authorization, one byte longer than the signature of a plain account. The product leaves such
 * signatures to the facilitator (ERC-1271), which compares the digest. Recovering plain signatures would take most of the time.
 */
export function signatureOf(authorization: AuthorizationFields): string {
  return `0x${sha256Hex(JSON.stringify(authorization)).repeat(3).slice(0, 132)}`
}

export interface PaymentFields {
  from: string
  nonce: string
  validBefore: number
  operation?: 'lookup' | 'resolve'
  /** Whether the signature is wrong. */
  isForged?: boolean
  /** Unsigned extra text in the payload. */
  remark?: string
  id?: string | undefined
}

export function newNonce(random: () => number): string {
  const words = Array.from({ length: 8 }, () => Math.floor(random() * 2 ** 32))
  return `0x${words.map((word) => word.toString(16).padStart(8, '0')).join('')}`
}

export function paymentOf({
  from,
  nonce,
  validBefore,
  operation = 'lookup',
  isForged = false,
  remark,
  id,
}: PaymentFields): SimulatedPayment {
  const accepted = buildRequirements(TERMS, operation)
  const authorization: AuthorizationFields = {
    from,
    to: accepted.payTo,
    value: accepted.amount,
    validAfter: '0',
    validBefore: String(validBefore),
    nonce,
  }
  const signature = isForged ? `0x${'99'.repeat(66)}` : signatureOf(authorization)
  const extensions = { 'payment-identifier': { info: { required: false, id } } }
  const payload = {
    x402Version: 2,
    accepted,
    payload: { authorization, signature },
    ...(remark && { remark }),
    ...(id !== undefined && { extensions }),
  }
  return {
    key: keyOf(from, nonce),
    identity: [accepted.network, accepted.asset, from, nonce].join('/').toLowerCase(),
    id,
    header: Buffer.from(JSON.stringify(payload)).toString('base64'),
    authorization,
  }
}
