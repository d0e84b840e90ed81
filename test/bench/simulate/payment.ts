/** The payments of the simulation: those of contract wallets, whose signature the facilitator judges and not we. */
import { sha256Hex } from '../../../agent/operation/canonical.ts'
import { requirementsOf, termsOf, type Terms } from '../../../agent/payments/terms.ts'
import { keyOf } from './keys.ts'

const PAY_TO = '0x00000000000000000000000000000000000000c2'
export const TERMS: Terms = termsOf('testnet', PAY_TO)

export interface Authorization {
  from: string
  to: string
  value: string
  validAfter: string
  validBefore: string
  nonce: string
}

export interface SimulatedPayment {
  /** Payer and nonce, lower case: what the chain knows it by. */
  key: string
  /** What our log knows it by. */
  identity: string
  /** The payer's own name for it (the extension payment-identifier). */
  id: string | undefined
  header: string
  authorization: Authorization
}

/**
 * A signature is a digest of what is signed, one byte longer than a plain account's: the product leaves such to the
 * facilitator (ERC-1271), which here compares it. The recovery of plain ones has its own tests, and would take most of the time.
 */
export function signatureOf(authorization: Authorization): string {
  return `0x${sha256Hex(JSON.stringify(authorization)).repeat(3).slice(0, 132)}`
}

export interface Wish {
  from: string
  nonce: string
  validBefore: number
  operation?: 'lookup' | 'resolve'
  /** Made up by somebody who doesn't have the key. */
  isForged?: boolean
  /** Unsigned text beside the payment. */
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
}: Wish): SimulatedPayment {
  const accepted = requirementsOf(TERMS, operation)
  const authorization: Authorization = {
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
