/** Payments for lookups, signed fast enough that a benchmark is not one of its own buyers. */
import secp256k1 from 'secp256k1'
import { hashTypedData, toBytes, toHex, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { requirementsOf } from '../../../agent/payments/terms.ts'
import { DOMAIN, MEMBERS } from '../../support/eip3009.ts'
import { header, testTerms } from '../../support/payments.ts'

const key = generatePrivateKey()
const payer = privateKeyToAddress(key)
const requirements = requirementsOf(testTerms, 'lookup')
/** Close to the longest that is taken, so that they outlive the run. */
const LIFETIME_SECONDS = 350

/** The digest is viem's and the signature native: a whole one of viem's takes longer than the server does. */
export function sign(): string {
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
  const { signature, recid } = secp256k1.ecdsaSign(toBytes(digest), toBytes(key))
  const payload = { authorization, signature: `${toHex(signature)}${recid === 0 ? '1b' : '1c'}` }
  const resource = { url: 'http://127.0.0.1:4021/api/v1/company/73848', description: '', mimeType: 'application/json' }
  return header({ x402Version: 2, resource, accepted: requirements, payload })
}
