/** Every payment that is refused without asking anybody: 402, a code, a fresh quote, and no call of facilitator or chain. */
import { expect } from 'chai'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import type { Reason } from '../../../agent/payments/quote.ts'
import { header, signedPayment, testTerms, type PaymentOptions, type WirePayment } from '../../support/payments.ts'
import { TestSeller } from '../../support/seller.ts'

const LOOKUP = { operation: 'lookup', input: { company_number: '00000000' } } as const
const OTHER_ADDRESS = '0x00000000000000000000000000000000000000d3'
const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const seconds = (fromNow: number) => String(Math.floor(Date.now() / 1000) + fromNow)

interface Case {
  name: string
  reason: Reason
  code?: 'payment_invalid' | 'payment_rejected'
  sign?: PaymentOptions
  change?: (payment: WirePayment) => unknown
  /** The headers to send, when the payload's JSON in base64 is not it. */
  headers?: (payment: WirePayment) => string[]
}

const accepted = (payment: WirePayment) => payment.accepted as Record<string, unknown>
const withAccepted = (change: Record<string, unknown>) => (payment: WirePayment) => ({
  ...payment,
  accepted: { ...accepted(payment), ...change },
})
const withAuthorization = (change: Record<string, unknown>) => (payment: WirePayment) => ({
  ...payment,
  payload: { ...payment.payload, authorization: { ...payment.payload.authorization, ...change } },
})
const withSignature = (change: (signature: string) => string) => (payment: WirePayment) => ({
  ...payment,
  payload: { ...payment.payload, signature: change(payment.payload.signature) },
})
const without = (record: object, name: string) =>
  Object.fromEntries(Object.entries(record).filter(([key]) => key !== name))

/** The mirror image of a signature: it recovers the same account, and the token refuses it. */
function highS(signature: string): string {
  const s = N - BigInt(`0x${signature.slice(66, 130)}`)
  const v = signature.slice(130) === '1b' ? '1c' : '1b'
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`
}

const nested = (depth: number): unknown => (depth === 0 ? {} : { a: nested(depth - 1) })

const TERMS = 'invalid_payment_requirements'
const FORM = 'invalid_payload'
const VALUE = 'invalid_exact_evm_payload_authorization_value_mismatch'
const BEFORE = 'invalid_exact_evm_payload_authorization_valid_before'
const AFTER = 'invalid_exact_evm_payload_authorization_valid_after'
const SIGNATURE = 'invalid_exact_evm_payload_signature'
const RECIPIENT = 'invalid_exact_evm_payload_recipient_mismatch'

const CASES: Case[] = [
  // Version and scheme
  { name: 'x402 version 1', reason: 'invalid_x402_version', change: (p) => ({ ...p, x402Version: 1 }) },
  { name: 'x402 version as text', reason: 'invalid_x402_version', change: (p) => ({ ...p, x402Version: '2' }) },
  { name: 'no version', reason: 'invalid_x402_version', change: (p) => without(p, 'x402Version') },
  { name: 'another scheme', reason: TERMS, change: withAccepted({ scheme: 'upto' }) },
  { name: 'another network', reason: TERMS, change: withAccepted({ network: 'eip155:8453' }) },
  { name: 'another asset', reason: TERMS, change: withAccepted({ asset: OTHER_ADDRESS }) },
  { name: 'an asset in another case', reason: TERMS, change: withAccepted({ asset: testTerms.asset.toLowerCase() }) },
  { name: 'another receiver in the terms', reason: TERMS, change: withAccepted({ payTo: OTHER_ADDRESS }) },
  { name: 'a lower amount in the terms', reason: TERMS, change: withAccepted({ amount: '999' }) },
  { name: 'a longer time in the terms', reason: TERMS, change: withAccepted({ maxTimeoutSeconds: 301 }) },
  {
    name: 'another domain in the terms',
    reason: TERMS,
    change: withAccepted({ extra: { name: 'USD Coin', version: '2' } }),
  },
  { name: 'a member more in the terms', reason: TERMS, change: withAccepted({ more: 1 }) },
  { name: 'terms of another operation', reason: TERMS, sign: { operation: 'resolve' } },
  { name: 'no terms', reason: FORM, change: (p) => without(p, 'accepted') },
  // Authorization
  { name: 'another receiver', reason: RECIPIENT, sign: { authorization: { to: OTHER_ADDRESS } } },
  { name: 'an amount one under', reason: VALUE, sign: { authorization: { value: '999' } } },
  { name: 'an amount one over', reason: VALUE, sign: { authorization: { value: '1001' } } },
  { name: 'an amount in hex', reason: FORM, change: withAuthorization({ value: '0x3e8' }) },
  { name: 'an amount as a number', reason: FORM, change: withAuthorization({ value: 1000 }) },
  { name: 'an amount with a leading zero', reason: FORM, change: withAuthorization({ value: '01000' }) },
  { name: 'an amount with blanks', reason: FORM, change: withAuthorization({ value: ' 1000 ' }) },
  { name: 'an amount in exponents', reason: FORM, change: withAuthorization({ value: '1e3' }) },
  { name: 'a signed amount', reason: FORM, change: withAuthorization({ value: '+1000' }) },
  { name: 'a time above uint256', reason: FORM, change: withAuthorization({ validBefore: (2n ** 256n).toString() }) },
  { name: 'an end 10 s away', reason: BEFORE, sign: { authorization: { validBefore: seconds(10) } } },
  { name: 'an end in the past', reason: BEFORE, sign: { authorization: { validBefore: seconds(-1) } } },
  { name: 'an end too far away', reason: BEFORE, sign: { authorization: { validBefore: seconds(420) } } },
  {
    name: 'an end beyond all time',
    reason: BEFORE,
    sign: { authorization: { validBefore: (2n ** 256n - 1n).toString() } },
  },
  { name: 'a begin in the future', reason: AFTER, sign: { authorization: { validAfter: seconds(60) } } },
  { name: 'a nonce of 31 bytes', reason: FORM, change: withAuthorization({ nonce: `0x${'1'.repeat(62)}` }) },
  { name: 'a nonce with a capital X', reason: FORM, change: withAuthorization({ nonce: `0X${'1'.repeat(64)}` }) },
  { name: 'a payer that is no address', reason: FORM, change: withAuthorization({ from: '0x1' }) },
  { name: 'a member more in the authorization', reason: FORM, change: withAuthorization({ more: '1' }) },
  { name: 'no authorization', reason: FORM, change: (p) => ({ ...p, payload: without(p.payload, 'authorization') }) },
  // Signature
  { name: 'no signature', reason: FORM, change: (p) => ({ ...p, payload: without(p.payload, 'signature') }) },
  { name: 'a signature of 64 bytes', reason: FORM, change: withSignature((s) => s.slice(0, -2)) },
  { name: 'half a byte more', reason: FORM, change: withSignature((s) => `${s}0`) },
  { name: 'a signature over 2 KiB', reason: FORM, change: withSignature((s) => s + '00'.repeat(2048)) },
  { name: 'a signature that is not hex', reason: FORM, change: withSignature((s) => `${s.slice(0, -2)}zz`) },
  { name: 'a high s', reason: SIGNATURE, change: withSignature(highS) },
  { name: 'v of 0', reason: SIGNATURE, change: withSignature((s) => `${s.slice(0, -2)}00`) },
  { name: 'v of 29', reason: SIGNATURE, change: withSignature((s) => `${s.slice(0, -2)}1d`) },
  { name: 'an undeployed wallet (ERC-6492)', reason: SIGNATURE, change: withSignature((s) => s + '6492'.repeat(16)) },
  {
    name: 'a signature of zeros',
    reason: SIGNATURE,
    code: 'payment_rejected',
    change: withSignature(() => `0x${'00'.repeat(64)}1b`),
  },
  {
    name: 'a signature of another amount',
    reason: SIGNATURE,
    code: 'payment_rejected',
    sign: { signed: { value: '1001' } },
  },
  {
    name: 'a signature for another chain',
    reason: SIGNATURE,
    code: 'payment_rejected',
    sign: { domain: { chainId: 8453 } },
  },
  {
    name: 'a signature for another token',
    reason: SIGNATURE,
    code: 'payment_rejected',
    sign: { domain: { verifyingContract: OTHER_ADDRESS } },
  },
  {
    name: 'a signature for another domain name',
    reason: SIGNATURE,
    code: 'payment_rejected',
    sign: { domain: { name: 'USD Coin' } },
  },
  {
    name: 'another payer than signed',
    reason: SIGNATURE,
    code: 'payment_rejected',
    change: withAuthorization({ from: OTHER_ADDRESS }),
  },
  // Payload
  {
    name: 'a Permit2 payload',
    reason: FORM,
    change: (p) => ({ ...p, payload: { signature: p.payload.signature, permit2Authorization: {} } }),
  },
  {
    name: 'a Permit2 member beside the authorization',
    reason: FORM,
    change: (p) => ({ ...p, payload: { ...p.payload, permit2Authorization: {} } }),
  },
  { name: 'an empty payload', reason: FORM, change: (p) => ({ ...p, payload: {} }) },
  {
    name: 'a resource that names another company',
    reason: 'resource_mismatch',
    change: (p) => ({ ...p, resource: { url: 'http://127.0.0.1:4021/api/v1/company/1' } }),
  },
  { name: 'a resource without a URL', reason: FORM, change: (p) => ({ ...p, resource: {} }) },
  { name: 'extensions that are a list', reason: FORM, change: (p) => ({ ...p, extensions: [] }) },
  { name: 'deep nesting', reason: FORM, change: (p) => ({ ...p, extensions: { deep: nested(100) } }) },
  {
    name: 'a number beyond a double',
    reason: FORM,
    headers: (p) => [Buffer.from(JSON.stringify(p).replace('{', '{"extensions":{"a":[1e400]},')).toString('base64')],
  },
  {
    name: 'a lone surrogate',
    reason: FORM,
    headers: (p) => [
      Buffer.from(JSON.stringify({ ...p, extensions: {} }).replace('{}', '{"a":"\\ud800"}')).toString('base64'),
    ],
  },
  {
    name: '__proto__',
    reason: FORM,
    headers: (p) => [Buffer.from(JSON.stringify(p).replace('{', '{"__proto__":{"x402Version":2},')).toString('base64')],
  },
  { name: 'null', reason: FORM, change: () => null },
  { name: 'a list', reason: FORM, change: (p) => [p] },
  { name: 'a number', reason: FORM, change: () => 1 },
  // Header
  { name: 'an empty header', reason: FORM, headers: () => [''] },
  { name: 'a header that is not base64', reason: FORM, headers: () => ['%%%'] },
  {
    name: 'url-safe base64',
    reason: FORM,
    headers: (p) => [Buffer.from(JSON.stringify({ ...p, extensions: { a: '>>>???' } })).toString('base64url')],
  },
  { name: 'base64 without its padding', reason: FORM, headers: (p) => [padded(p).replace(/=+$/, '')] },
  { name: 'base64 with a line feed', reason: FORM, headers: (p) => [`${header(p)}\n`] },
  { name: 'two headers', reason: FORM, headers: (p) => [header(p), header(p)] },
  { name: 'two headers joined', reason: FORM, headers: (p) => [`${header(p)}, ${header(p)}`] },
  {
    name: 'a header of 9 KiB',
    reason: FORM,
    headers: (p) => [header({ ...p, extensions: { filler: 'a'.repeat(6000) } })],
  },
  {
    name: 'broken UTF-8',
    reason: FORM,
    headers: (p) => [
      Buffer.concat([Buffer.from(JSON.stringify(p).slice(0, -1)), Buffer.from(',"a":"\xff"}', 'latin1')]).toString(
        'base64',
      ),
    ],
  },
  {
    name: 'a byte order mark',
    reason: FORM,
    headers: (p) => [Buffer.from(`\uFEFF${JSON.stringify(p)}`).toString('base64')],
  },
  {
    name: 'JSON that ends early',
    reason: FORM,
    headers: (p) => [Buffer.from(JSON.stringify(p).slice(0, -1)).toString('base64')],
  },
]

/** The header of a payment whose base64 needs padding. */
function padded(payment: WirePayment): string {
  const encodings = [0, 1, 2].map((length) => header({ ...payment, extensions: { filler: 'a'.repeat(length) } }))
  return encodings.find((each) => each.endsWith('=')) ?? ''
}

describe('a payment that is refused offline', () => {
  let shop: TestSeller

  before(async () => {
    shop = await TestSeller.open()
  })
  beforeEach(() => {
    shop.limitTo(1000)
    shop.calls.length = 0
  })
  after(() => shop.close())

  it('is one of at least forty kinds', () => {
    expect(CASES.length).to.be.greaterThan(40)
    expect(new Set(CASES.map(({ name }) => name)).size).to.equal(CASES.length)
  })

  it('is not the one that all these are made from', async () => {
    expect((await shop.lookup(await signedPayment())).kind).to.equal('answer')
  })

  for (const { name, reason, code = 'payment_invalid', sign, change, headers } of CASES) {
    it(`has ${name}`, async () => {
      const payment = await signedPayment(sign)
      const outcome = await shop.ask(LOOKUP, headers ? headers(payment) : [header(change ? change(payment) : payment)])
      if (outcome.kind !== 'refused') throw new Error('it was taken')
      expect(outcome.refusal.code).to.equal(code)
      const quote = decodePaymentRequiredHeader(outcome.quote?.header ?? '')
      expect(quote).to.include({ error: reason, x402Version: 2 })
      expect(quote.accepts).to.have.lengthOf(1)
      expect(shop.calls).to.deep.equal([])
      expect(await shop.records()).to.deep.equal([])
    })
  }

  it('does not include a longer signature of a contract wallet, which the facilitator judges', async () => {
    const payment = withSignature((signature) => `${signature}00`)(await signedPayment())
    expect((await shop.lookup(payment)).kind).to.equal('answer')
    expect(shop.calls).to.include('verify')
  })

  it('does not include an end exactly 15 s or 360 s away', async () => {
    const frozen = new Date(Math.floor(Date.now() / 1000) * 1000)
    shop.now = () => frozen
    const at = (left: number) => String(frozen.getTime() / 1000 + left)
    for (const [left, kind] of [
      [14, 'refused'],
      [15, 'answer'],
      [360, 'answer'],
      [361, 'refused'],
    ] as const) {
      const payment = await signedPayment({ authorization: { validBefore: at(left) } })
      expect((await shop.lookup(payment)).kind, String(left)).to.equal(kind)
    }
    shop.now = () => new Date()
  })
})
