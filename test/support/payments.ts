/** Signed payments for tests. Valid by default; options make each part invalid. */
import { decodePaymentRequiredHeader } from '@x402/core/http'
import type { PaymentRequirements } from '@x402/core/types'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { type Hex, toHex } from 'viem'
import { buildRequirements, buildTerms, type Terms } from '../../agent/payment/terms.ts'
import { DOMAIN, signAuthorization, type Domain } from './eip3009.ts'
import { OPERATIONS } from '../../agent/operation/operations.ts'
import { singleOf } from './operations.ts'

const buyerKey = generatePrivateKey()
export const testTerms: Terms = buildTerms('testnet', '0x00000000000000000000000000000000000000c2', OPERATIONS)

export interface AuthorizationFields {
  from: string
  to: string
  value: string
  validAfter: string
  validBefore: string
  nonce: string
}

/** A payment payload as sent. Loosely typed, because tests make it invalid. */
export interface WirePayment {
  x402Version: unknown
  accepted: unknown
  payload: { authorization: AuthorizationFields; signature: string; [extra: string]: unknown }
  [extra: string]: unknown
}

export interface PaymentOptions {
  key?: Hex
  terms?: Terms
  operation?: string
  requirements?: PaymentRequirements
  authorization?: Partial<AuthorizationFields>
  /** Members that are signed with other values than those sent. */
  signed?: Partial<AuthorizationFields>
  domain?: Partial<Domain>
}

export async function signedPayment(options: PaymentOptions = {}): Promise<WirePayment> {
  const payment = unsignedPayment(options)
  const signed = { ...payment.payload.authorization, ...options.signed }
  const message = {
    from: signed.from as Hex,
    to: signed.to as Hex,
    value: BigInt(signed.value),
    validAfter: BigInt(signed.validAfter),
    validBefore: BigInt(signed.validBefore),
    nonce: signed.nonce as Hex,
  }
  const domain = { ...DOMAIN, ...options.domain }
  const { key = buyerKey } = options
  payment.payload.signature = await signAuthorization(key, message, 'TransferWithAuthorization', domain)
  return payment
}

/** A payment with an empty signature. */
export function unsignedPayment(options: Omit<PaymentOptions, 'signed' | 'domain'> = {}): WirePayment {
  const { terms = testTerms, operation = 'lookup', key = buyerKey } = options
  const requirements = options.requirements ?? buildRequirements(terms, singleOf(operation).prices[terms.mode])
  const authorization: AuthorizationFields = {
    from: options.authorization?.from ?? privateKeyToAddress(key),
    to: requirements.payTo,
    value: requirements.amount,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + requirements.maxTimeoutSeconds),
    nonce: toHex(crypto.getRandomValues(new Uint8Array(32))),
    ...options.authorization,
  }
  return { x402Version: 2, accepted: requirements, payload: { authorization, signature: '0x' } }
}

/** The `PAYMENT-SIGNATURE` header of a payment for a quote. */
export async function signQuote(quoteHeader: string | null, options: PaymentOptions = {}): Promise<string> {
  const [requirements] = decodePaymentRequiredHeader(quoteHeader ?? '').accepts
  if (!requirements) throw new Error('The quote accepts no payment')
  return header(withPaymentId(await signedPayment({ requirements, ...options })))
}

/** The `PAYMENT-SIGNATURE` header of a payload. */
export function header(payload: unknown): string {
  return Buffer.from(JSON.stringify(payload)).toString('base64')
}

/**
 * Adds a random payment id, as careful buyers do. An observer of the chain cannot guess such a payment (contract
 * 5.4.2).
 */
export function withPaymentId<Sent extends object>(payment: Sent): Sent & { extensions: object } {
  const id = crypto.randomUUID()
  return { ...payment, extensions: { 'payment-identifier': { info: { required: false, id } } } }
}
