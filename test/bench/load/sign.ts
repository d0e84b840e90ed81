/**
 * Signs payments quickly. viem computes the digest; WebAssembly signs, because viem's own signing takes longer than the
 * server.
 */
import { signRecoverable } from 'tiny-secp256k1'
import { hashTypedData, toBytes, toHex, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { buildRequirements } from '../../../agent/payment/terms.ts'
import { DOMAIN, MEMBERS } from '../../support/eip3009.ts'
import { header, testTerms, withPaymentId } from '../../support/payments.ts'
import { priceOf } from '../../support/operations.ts'

const key = generatePrivateKey()
const payer = privateKeyToAddress(key)
/** Just below the longest lifetime that the service accepts, so that payments outlive a run. */
const LIFETIME_SECONDS = 350

/** @returns a `PAYMENT-SIGNATURE` header with a nonce of its own */
export function signPayment(amount = priceOf('lookup')): string {
  const requirements = buildRequirements(testTerms, amount)
  const authorization = {
    from: payer,
    to: requirements.payTo as Hex,
    value: requirements.amount,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + LIFETIME_SECONDS),
    nonce: toHex(crypto.getRandomValues(new Uint8Array(32))),
  }
  const { value, validAfter, validBefore, ...rest } = authorization
  const digest = hashTypedData({
    domain: DOMAIN,
    types: { TransferWithAuthorization: MEMBERS },
    primaryType: 'TransferWithAuthorization',
    message: { ...rest, value: BigInt(value), validAfter: BigInt(validAfter), validBefore: BigInt(validBefore) },
  })
  const { signature, recoveryId } = signRecoverable(toBytes(digest), toBytes(key))
  const payload = { authorization, signature: `${toHex(signature)}${recoveryId === 0 ? '1b' : '1c'}` }
  return header(withPaymentId({ x402Version: 2, accepted: requirements, payload }))
}
