/** Signature recovery, compared with viem over random valid and altered authorizations. */
import { expect } from 'chai'
import fc from 'fast-check'
import { isPrivate } from 'tiny-secp256k1'
import { recoverTypedDataAddress, toHex, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { recoverSigner } from '../../../agent/payment/signature.ts'
import { buildTerms, type Terms } from '../../../agent/payment/terms.ts'
import { MEMBERS } from '../../support/eip3009.ts'
import { testTerms, type AuthorizationFields } from '../../support/payments.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
/** viem takes 2 ms per recovery. */
const RUNS = 300

interface Signed {
  authorization: AuthorizationFields
  signature: string
}

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const hex = (length: number) => bytes(length).map((value) => toHex(value))
const uint256 = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.bigInt({ min: 0n, max: 10n ** 10n }))
const mixedCase = fc
  .tuple(hex(20), fc.boolean())
  .map(([address, upper]) => (upper ? `0x${address.slice(2).toUpperCase()}` : address))
const authorization: fc.Arbitrary<AuthorizationFields> = fc.record({
  from: mixedCase,
  to: mixedCase,
  value: uint256.map(String),
  validAfter: uint256.map(String),
  validBefore: uint256.map(String),
  nonce: hex(32),
})
const deployment = fc.constantFrom(testTerms, buildTerms('mainnet', testTerms.payTo, OPERATIONS))
/** Below the order of the curve and not zero. */
const privateKey = bytes(32)
  .filter((key) => isPrivate(key))
  .map((key) => toHex(key))

/** viem recovers the signer. The two rules of the token are repeated here. */
async function recoverWithViem(
  { authorization: fields, signature }: Signed,
  terms: Terms,
): Promise<string | undefined> {
  const s = BigInt(`0x${signature.slice(66, 130)}`)
  const v = signature.slice(130)
  if (s > ORDER / 2n || (v !== '1b' && v !== '1c')) return undefined
  try {
    return (await recoverTypedDataAddress({ ...typedData(fields, terms), signature: signature as Hex })).toLowerCase()
  } catch {
    return undefined
  }
}

function typedData(fields: AuthorizationFields, { domain, chainId, asset }: Terms) {
  return {
    domain: { ...domain, chainId, verifyingContract: asset },
    types: { TransferWithAuthorization: MEMBERS },
    primaryType: 'TransferWithAuthorization',
    message: {
      from: fields.from.toLowerCase() as Hex,
      to: fields.to.toLowerCase() as Hex,
      value: BigInt(fields.value),
      validAfter: BigInt(fields.validAfter),
      validBefore: BigInt(fields.validBefore),
      nonce: fields.nonce as Hex,
    },
  } as const
}

const word = (value: bigint) => value.toString(16).padStart(64, '0')
const otherV = (signature: string) => (signature.endsWith('1b') ? '1c' : '1b')

/** Replaces parts of the signature, each without 0x. */
function withParts(signed: Signed, change: { r?: string; s?: string; v?: string }): Signed {
  const { signature } = signed
  const parts = { r: signature.slice(2, 66), s: signature.slice(66, 130), v: signature.slice(130), ...change }
  return { ...signed, signature: `0x${parts.r}${parts.s}${parts.v}` }
}

const withFields = (signed: Signed, change: Partial<AuthorizationFields>): Signed => ({
  ...signed,
  authorization: { ...signed.authorization, ...change },
})

/** Ways to alter the authorization or its signature. */
const ALTERATIONS: Record<string, (signed: Signed, at: number) => Signed> = {
  'a flipped bit of the signature': (signed, at) => {
    const flipped = Buffer.from(signed.signature.slice(2), 'hex')
    flipped[at % flipped.length] = (flipped[at % flipped.length] ?? 0) ^ (1 << (at % 8))
    return { ...signed, signature: `0x${flipped.toString('hex')}` }
  },
  'the mirrored s with the other v': (signed) => {
    const s = word(ORDER - BigInt(`0x${signed.signature.slice(66, 130)}`))
    return withParts(signed, { s, v: otherV(signed.signature) })
  },
  'the other v': (signed) => withParts(signed, { v: otherV(signed.signature) }),
  'v of 0, 1, 29 or 30': (signed, at) => withParts(signed, { v: ['00', '01', '1d', '1e'][at % 4] ?? '' }),
  'r of zero': (signed) => withParts(signed, { r: word(0n) }),
  's of zero': (signed) => withParts(signed, { s: word(0n) }),
  'r of at least the order': (signed, at) => withParts(signed, { r: word(ORDER + BigInt(at)) }),
  'another value': (signed) =>
    withFields(signed, { value: String((BigInt(signed.authorization.value) + 1n) % 2n ** 256n) }),
  'another receiver': (signed) => withFields(signed, { to: `0x${'5a'.repeat(20)}` }),
  'swapped times': (signed) => {
    const { validAfter, validBefore } = signed.authorization
    return withFields(signed, { validAfter: validBefore, validBefore: validAfter })
  },
}

async function sign(fields: AuthorizationFields, terms: Terms, key: Hex): Promise<Signed> {
  const signature = await privateKeyToAccount(key).signTypedData(typedData(fields, terms))
  return { authorization: fields, signature }
}

describe('recoverSigner', () => {
  it('returns the same as viem and the rules of the token', async () => {
    const cases = fc.tuple(
      authorization,
      deployment,
      privateKey,
      fc.constantFrom(...Object.keys(ALTERATIONS)),
      fc.nat(511),
    )
    await fc.assert(
      fc.asyncProperty(cases, async ([fields, terms, key, alteration, at]) => {
        const signed = await sign(fields, terms, key)
        const signer = privateKeyToAccount(key).address.toLowerCase()
        expect(recoverSigner(signed, terms)).to.equal(signer)
        const altered = ALTERATIONS[alteration]?.(signed, at) ?? signed
        const found = recoverSigner(altered, terms)
        expect(found, alteration).to.equal(await recoverWithViem(altered, terms))
        if (alteration !== 'swapped times') expect(found, alteration).to.not.equal(signer)
      }),
      { numRuns: RUNS },
    )
  })

  it('returns undefined for a signature of another length', async () => {
    const fields = { ...testTerms.domain, from: `0x${'11'.repeat(20)}`, to: testTerms.payTo, value: '1' }
    const rest = { validAfter: '0', validBefore: '9', nonce: `0x${'22'.repeat(32)}` }
    const signed = await sign({ ...fields, ...rest }, testTerms, `0x${'42'.repeat(32)}`)
    expect(recoverSigner(signed, testTerms)).to.be.a('string')
    for (const signature of [`${signed.signature}00`, signed.signature.slice(0, -2), '0x']) {
      expect(recoverSigner({ ...signed, signature }, testTerms), signature).to.equal(undefined)
    }
  })
})
