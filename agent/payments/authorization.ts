/** The checks of a payment that need no network, cheapest first: terms, times, resource, signature (decisions 5). */
import { recoverTypedDataAddress, type Hex } from 'viem'
import { canonicalJson } from '../operation/canonical.ts'
import { namesAnotherOperation } from '../operation/resource.ts'
import type { Operation } from '../operation/schema.ts'
import { PLAIN_SIGNATURE_BYTES, type Authorization, type Payment } from './headers.ts'
import type { Reason } from './quote.ts'
import { QUOTE_LIFETIME_SECONDS, requirementsOf, type Terms } from './terms.ts'

/** An authorization must outlive verification and settlement. */
export const SECONDS_LEFT_MIN = 15
/** How far a client's clock may run ahead of ours. */
const CLOCK_SKEW_SECONDS_MAX = 60

/** secp256k1's group order, halved: the token refuses a signature's mirror image above it (EIP-2). */
const LOW_S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
/** The end of a signature of a wallet that is not deployed yet (ERC-6492). */
const ERC6492_SUFFIX = '6492'.repeat(16)

const TRANSFER_WITH_AUTHORIZATION = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

export interface TermsCheck {
  payment: Payment
  terms: Terms
  operation: Operation
  now: Date
}

/** Why a payment is not the one that was quoted, in form, terms or time; undefined when it is. */
export function checkTerms({ payment, terms, operation, now }: TermsCheck): Reason | undefined {
  const { authorization, signature } = payment.payload
  const requirements = requirementsOf(terms, operation.operation)
  if (canonicalJson(payment.accepted) !== canonicalJson(requirements)) return 'invalid_payment_requirements'
  if (authorization.to.toLowerCase() !== terms.payTo.toLowerCase())
    return 'invalid_exact_evm_payload_recipient_mismatch'
  if (authorization.value !== requirements.amount) return 'invalid_exact_evm_payload_authorization_value_mismatch'
  if (payment.resource && namesAnotherOperation(payment.resource.url, operation)) return 'resource_mismatch'
  return checkTimes(authorization, now) ?? checkSignatureForm(signature)
}

/** The token takes an authorization strictly between `validAfter` and `validBefore` (EIP-3009). */
function checkTimes({ validAfter, validBefore }: Authorization, now: Date): Reason | undefined {
  const seconds = BigInt(Math.floor(now.getTime() / 1000))
  if (BigInt(validAfter) >= seconds) return 'invalid_exact_evm_payload_authorization_valid_after'
  const earliest = seconds + BigInt(SECONDS_LEFT_MIN)
  const latest = seconds + BigInt(QUOTE_LIFETIME_SECONDS + CLOCK_SKEW_SECONDS_MAX)
  if (BigInt(validBefore) < earliest || BigInt(validBefore) > latest) {
    return 'invalid_exact_evm_payload_authorization_valid_before'
  }
  return undefined
}

function checkSignatureForm(signature: string): Reason | undefined {
  if (signature.toLowerCase().endsWith(ERC6492_SUFFIX)) return 'invalid_exact_evm_payload_signature'
  if (!isPlain(signature)) return undefined
  const s = BigInt(`0x${signature.slice(66, 130)}`)
  const v = Number.parseInt(signature.slice(130), 16)
  return s > LOW_S_MAX || (v !== 27 && v !== 28) ? 'invalid_exact_evm_payload_signature' : undefined
}

/**
 * Whether a plain account's signature is the payer's. A contract wallet's longer one can only be judged on chain, by the
 * facilitator.
 */
export async function isSignedByPayer({ payload }: Payment, terms: Terms): Promise<boolean> {
  const { signature, authorization } = payload
  if (!isPlain(signature)) return true
  try {
    const signer = await recoverTypedDataAddress({
      domain: { ...terms.domain, chainId: terms.chainId, verifyingContract: terms.asset },
      types: TRANSFER_WITH_AUTHORIZATION,
      primaryType: 'TransferWithAuthorization',
      message: {
        from: lower(authorization.from),
        to: lower(authorization.to),
        value: BigInt(authorization.value),
        validAfter: BigInt(authorization.validAfter),
        validBefore: BigInt(authorization.validBefore),
        nonce: lower(authorization.nonce),
      },
      signature: lower(signature),
    })
    return signer.toLowerCase() === authorization.from.toLowerCase()
  } catch {
    // Points that are not on the curve, or r and s of zero: nobody's signature.
    return false
  }
}

function isPlain(signature: string): boolean {
  return signature.length === 2 + 2 * PLAIN_SIGNATURE_BYTES
}

/** Lower case, because a checksum in the wrong case is a spelling and not another address. */
function lower(hex: string): Hex {
  return hex.toLowerCase() as Hex
}
