/** The payments of the simulation. They come from contract wallets, whose signatures only the facilitator verifies. */
import { sha256Hex } from '../../../base/canonical.ts'
import type { AuthorizationFields } from '../../support/payments.ts'
import { lookup } from '../../../agent/operation/lookup.ts'
import type { Operation } from '../../../agent/operation/operation.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import { amountOf, buildRequirements, buildTerms, type Terms } from '../../../agent/payment/terms.ts'

const PAY_TO = '0x00000000000000000000000000000000000000c2'
export const TERMS: Terms = buildTerms('testnet', PAY_TO, OPERATIONS)

/** The key of a payment on the simulated chain: payer and nonce in lower case. */
export const keyOf = (from: string, nonce: string) => `${from}/${nonce}`.toLowerCase()

export const lookupOf = (company_number: string): Operation => ({ definition: lookup, input: { company_number } })

/** Of a lookup, in micro-USDC. */
const AMOUNT = amountOf(TERMS, lookupOf('1'))
export const PRICE = BigInt(AMOUNT)

export interface SimulatedPayment {
  /** Payer and nonce in lower case, the chain's key. */
  key: string
  /** The key of the response log. */
  identity: string
  header: string
  authorization: AuthorizationFields
}

/** A request: a payment, and the company that it asks for. */
export interface Purchase {
  payment: SimulatedPayment
  number: string
}

interface PaymentFields {
  from: string
  nonce: string
  validBefore: number
}

export function newNonce(random: () => number): string {
  const words = Array.from({ length: 8 }, () => Math.floor(random() * 2 ** 32))
  return `0x${words.map((word) => word.toString(16).padStart(8, '0')).join('')}`
}

export function paymentOf({ from, nonce, validBefore }: PaymentFields): SimulatedPayment {
  const accepted = buildRequirements(TERMS, AMOUNT)
  const authorization: AuthorizationFields = {
    from,
    to: accepted.payTo,
    value: accepted.amount,
    validAfter: '0',
    validBefore: String(validBefore),
    nonce,
  }
  // One byte longer than the signature of a plain account, so the product leaves it to the facilitator (ERC-1271).
  // Recovering plain signatures would take most of the time.
  const signature = `0x${sha256Hex(JSON.stringify(authorization)).repeat(3).slice(0, 132)}`
  const payload = { x402Version: 2, accepted, payload: { authorization, signature } }
  return {
    key: keyOf(from, nonce),
    identity: [accepted.network, accepted.asset, from, nonce].join('/').toLowerCase(),
    header: Buffer.from(JSON.stringify(payload)).toString('base64'),
    authorization,
  }
}
