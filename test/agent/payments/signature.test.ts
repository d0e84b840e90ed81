/** The quick check of a signature, held against viem's over authorizations of every kind, right and damaged. */
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import secp256k1 from 'secp256k1'
import { recoverTypedDataAddress, toHex, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { recoverSigner, type Recover } from '../../../agent/payments/signature.ts'
import { termsOf, type Terms } from '../../../agent/payments/terms.ts'
import { MEMBERS } from '../../support/eip3009.ts'
import { testTerms, type AuthorizationFields } from '../../support/payments.ts'

const require = createRequire(import.meta.url)
/** What the package falls back to where it has no native code for a platform, or that does not load. */
const withoutNativeCode = require('secp256k1/elliptic') as Recover

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
/** Damaged ones are judged three times each and viem takes 2 ms, so the many runs stay within a few seconds. */
const RUNS = 1_000
const RUNS_WITHOUT_NATIVE_CODE = 150

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
const deployment = fc.constantFrom(testTerms, termsOf('mainnet', testTerms.payTo))
/** Below the curve's order and not zero. */
const privateKey = bytes(32)
  .filter((key) => secp256k1.privateKeyVerify(key))
  .map((key) => toHex(key))

/** Everything but the last word is viem's: types, hash and curve. The two rules of the token are written out anew. */
async function reference({ authorization: fields, signature }: Signed, terms: Terms): Promise<string | undefined> {
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

/** One way each to damage what was signed, or its signature. */
const DAMAGES: Record<string, (signed: Signed, at: number) => Signed> = {
  'a flipped bit of the signature': ({ signature, ...rest }, at) => {
    const flipped = Buffer.from(signature.slice(2), 'hex')
    flipped[at % flipped.length] = (flipped[at % flipped.length] ?? 0) ^ (1 << (at % 8))
    return { ...rest, signature: `0x${flipped.toString('hex')}` }
  },
  'the mirror image with its own v': ({ signature, ...rest }) => {
    const s = word(ORDER - BigInt(`0x${signature.slice(66, 130)}`))
    return { ...rest, signature: `${signature.slice(0, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}` }
  },
  'the other v': ({ signature, ...rest }) => ({
    ...rest,
    signature: `${signature.slice(0, 130)}${signature.endsWith('1b') ? '1c' : '1b'}`,
  }),
  'v of 0, 1, 29 or 30': ({ signature, ...rest }, at) => ({
    ...rest,
    signature: `${signature.slice(0, 130)}${['00', '01', '1d', '1e'][at % 4]}`,
  }),
  'r of zero': ({ signature, ...rest }) => ({ ...rest, signature: `0x${word(0n)}${signature.slice(66)}` }),
  's of zero': ({ signature, ...rest }) => ({
    ...rest,
    signature: `${signature.slice(0, 66)}${word(0n)}${signature.slice(130)}`,
  }),
  'r of the order and above': ({ signature, ...rest }, at) => ({
    ...rest,
    signature: `0x${word(ORDER + BigInt(at))}${signature.slice(66)}`,
  }),
  'another value': ({ authorization: fields, ...rest }) => ({
    ...rest,
    authorization: { ...fields, value: String((BigInt(fields.value) + 1n) % 2n ** 256n) },
  }),
  'another receiver': ({ authorization: fields, ...rest }) => ({
    ...rest,
    authorization: { ...fields, to: `0x${'5a'.repeat(20)}` },
  }),
  'times the other way round': ({ authorization: fields, ...rest }) => ({
    ...rest,
    authorization: { ...fields, validAfter: fields.validBefore, validBefore: fields.validAfter },
  }),
}

async function sign(fields: AuthorizationFields, terms: Terms, key: Hex): Promise<Signed> {
  const signature = await privateKeyToAccount(key).signTypedData(typedData(fields, terms))
  return { authorization: fields, signature }
}

function holds(runs: number, recover: Recover): Promise<void> {
  const cases = fc.tuple(authorization, deployment, privateKey, fc.constantFrom(...Object.keys(DAMAGES)), fc.nat(511))
  return fc.assert(
    fc.asyncProperty(cases, async ([fields, terms, key, damage, at]) => {
      const signed = await sign(fields, terms, key)
      const signer = privateKeyToAccount(key).address.toLowerCase()
      expect(recoverSigner(signed, terms, recover)).to.equal(signer)
      const damaged = DAMAGES[damage]?.(signed, at) ?? signed
      const found = recoverSigner(damaged, terms, recover)
      expect(found, damage).to.equal(await reference(damaged, terms))
      if (damage !== 'times the other way round') expect(found, damage).to.not.equal(signer)
    }),
    { numRuns: runs },
  )
}

describe('the signer of an authorization', () => {
  it('is who viem says, and nobody where viem or the token says nobody', () => holds(RUNS, secp256k1)).timeout(60_000)

  it('is the same where the package has no native code', () =>
    holds(RUNS_WITHOUT_NATIVE_CODE, withoutNativeCode)).timeout(60_000)

  it('is recovered by native code where the package brings some', function () {
    const platform = readdirSync(join(dirname(require.resolve('secp256k1')), 'prebuilds')).find(
      (name) => name === `${process.platform}-${process.arch}`,
    )
    if (platform === undefined) return this.skip()
    expect(require('secp256k1/bindings')).to.equal(secp256k1)
  })

  it('is nobody for a signature of another length', async () => {
    const fields = { ...testTerms.domain, from: `0x${'11'.repeat(20)}`, to: testTerms.payTo, value: '1' }
    const rest = { validAfter: '0', validBefore: '9', nonce: `0x${'22'.repeat(32)}` }
    const signed = await sign({ ...fields, ...rest }, testTerms, `0x${'42'.repeat(32)}`)
    expect(recoverSigner(signed, testTerms)).to.be.a('string')
    for (const signature of [`${signed.signature}00`, signed.signature.slice(0, -2), '0x']) {
      expect(recoverSigner({ ...signed, signature }, testTerms), signature).to.equal(undefined)
    }
  })
})
