/** Payments that fail the local checks: 402 with a code and a fresh quote, and no remote call (contract 5.3). */
import { expect } from 'chai'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { getAddress, zeroAddress } from 'viem'
import type { QuoteReason } from '../../../agent/operation/outcome.ts'
import {
  header,
  signedPayment,
  testTerms,
  type AuthorizationFields,
  type PaymentOptions,
  type WirePayment,
} from '../../support/payments.ts'
import { SaleHarness } from '../../support/sale-harness.ts'
import { wrap } from '../../support/wallets.ts'
import { lookup } from '../../../agent/operation/lookup.ts'

const LOOKUP = { definition: lookup, input: { company_number: '00000000' } }
const OTHER_ADDRESS = '0x00000000000000000000000000000000000000d3'

const seconds = (fromNow: number) => String(Math.floor(Date.now() / 1000) + fromNow)

interface Case {
  name: string
  reason: QuoteReason
  code?: 'payment_invalid' | 'payment_rejected'
  calls?: string[]
  sign?: PaymentOptions
  change?: (payment: WirePayment) => unknown
  /** The headers to send. Default: the payment as base64 JSON. */
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

const TERMS = 'invalid_payment_requirements'
const FORM = 'invalid_payload'
const VALUE = 'invalid_exact_evm_payload_authorization_value_mismatch'
const FAR = 'authorization_ends_more_than_3600_seconds_ahead'
const AFTER = 'invalid_exact_evm_payload_authorization_valid_after'
const SIGNATURE = 'invalid_exact_evm_payload_signature'
const RECIPIENT = 'invalid_exact_evm_payload_recipient_mismatch'

/** A signature that does not recover to the payer. */
function rejected(name: string, made: Pick<Case, 'sign' | 'change'>): Case {
  return { name, reason: SIGNATURE, code: 'payment_rejected', calls: ['observe'], ...made }
}

/** Only a block shows that the time is not valid. */
function observed(name: string, reason: QuoteReason, authorization: Partial<AuthorizationFields>): Case {
  return { name, reason, calls: ['observe'], sign: { authorization } }
}

const CASES: Case[] = [
  // Version and scheme
  { name: 'x402 version 1', reason: 'invalid_x402_version', change: (p) => ({ ...p, x402Version: 1 }) },
  { name: 'x402 version as text', reason: 'invalid_x402_version', change: (p) => ({ ...p, x402Version: '2' }) },
  { name: 'no version', reason: 'invalid_x402_version', change: (p) => without(p, 'x402Version') },
  { name: 'another scheme', reason: TERMS, change: withAccepted({ scheme: 'upto' }) },
  { name: 'another network', reason: TERMS, change: withAccepted({ network: 'eip155:8453' }) },
  { name: 'another asset', reason: TERMS, change: withAccepted({ asset: OTHER_ADDRESS }) },
  { name: 'another receiver in the terms', reason: TERMS, change: withAccepted({ payTo: OTHER_ADDRESS }) },
  { name: 'a lower amount in the terms', reason: TERMS, change: withAccepted({ amount: '999' }) },
  { name: 'a longer time in the terms', reason: TERMS, change: withAccepted({ maxTimeoutSeconds: 301 }) },
  {
    name: 'another domain in the terms',
    reason: TERMS,
    change: withAccepted({ extra: { name: 'USD Coin', version: '2' } }),
  },
  { name: 'an additional member in the terms', reason: TERMS, change: withAccepted({ more: 1 }) },
  { name: 'terms of another operation', reason: TERMS, sign: { operation: 'resolve' } },
  // Authorization
  { name: 'another receiver', reason: RECIPIENT, sign: { authorization: { to: OTHER_ADDRESS } } },
  { name: 'an amount that is 1 too low', reason: VALUE, sign: { authorization: { value: '999' } } },
  { name: 'an amount that is 1 too high', reason: VALUE, sign: { authorization: { value: '1001' } } },
  observed('validBefore in a day', FAR, { validBefore: seconds(86_400) }),
  observed('the maximal validBefore', FAR, { validBefore: (2n ** 256n - 1n).toString() }),
  observed('validAfter in an hour', AFTER, { validAfter: seconds(3600) }),
  // Signature
  { name: 'no signature', reason: FORM, change: (p) => ({ ...p, payload: without(p.payload, 'signature') }) },
  { name: 'a signature of 64 bytes', reason: FORM, change: withSignature((s) => s.slice(0, -2)) },
  { name: 'a signature with half a byte more', reason: FORM, change: withSignature((s) => `${s}0`) },
  { name: 'a signature over 2 KiB', reason: FORM, change: withSignature((s) => s + '00'.repeat(2048)) },
  { name: 'a signature that is not hex', reason: FORM, change: withSignature((s) => `${s.slice(0, -2)}zz`) },
  { name: 'a malformed ERC-6492 signature', reason: SIGNATURE, change: withSignature((s) => s + '6492'.repeat(16)) },
  { name: 'an ERC-6492 signature in another', reason: SIGNATURE, change: (p) => wrap(wrap(p, '0x'), '0x') },
  { name: 'an ERC-6492 signature without a factory', reason: SIGNATURE, change: (p) => wrap(p, '0x', zeroAddress) },
  rejected('a signature of another amount', { sign: { signed: { value: '1001' } } }),
  rejected('a payer other than the signer', { change: withAuthorization({ from: OTHER_ADDRESS }) }),
  // Payload
  {
    name: 'a Permit2 payload',
    reason: FORM,
    change: (p) => ({ ...p, payload: { signature: p.payload.signature, permit2Authorization: {} } }),
  },
  {
    name: 'a resource that names another company',
    reason: 'resource_mismatch',
    change: (p) => ({ ...p, resource: { url: 'http://127.0.0.1:4021/api/v1/company/1' } }),
  },
  { name: 'a resource without a URL', reason: FORM, change: (p) => ({ ...p, resource: {} }) },
  ...Object.entries<(json: string) => string>({
    'a number beyond a double': (json) => json.replace('{', '{"extensions":{"a":[1e400]},'),
    'a repeated name': (json) => json.replace('{', '{"a":1,"a":1,'),
    'a lone surrogate': (json) => json.replace('{', '{"extensions":{"a":"\\ud800"},'),
    ['__proto__']: (json) => json.replace('{', '{"__proto__":{"x402Version":2},'),
    'a byte order mark': (json) => `\uFEFF${json}`,
  }).map(([name, change]): Case => ({
    name,
    reason: FORM,
    headers: (p) => [Buffer.from(change(JSON.stringify(p))).toString('base64')],
  })),
  ...['x'.repeat(15), 'x'.repeat(129), 'payment/id with spaces', 1e16].map((id): Case => ({
    name: `the payment id ${id}`,
    reason: FORM,
    change: (p) => ({ ...p, extensions: { 'payment-identifier': { info: { id } } } }),
  })),
]

describe('a payment that fails the local checks', () => {
  let sale: SaleHarness

  before(async () => {
    sale = await SaleHarness.open()
  })
  beforeEach(() => {
    sale.calls.length = 0
  })
  after(() => sale.close())

  for (const [name, change] of Object.entries<(payment: WirePayment) => object>({
    'no change': (payment) => payment,
    'addresses in another case in the terms': withAccepted({
      asset: testTerms.asset.toLowerCase(),
      payTo: getAddress(testTerms.payTo),
    }),
    'a further member of extra': withAccepted({ extra: { ...testTerms.domain, assetTransferMethod: 'eip3009' } }),
    'null for optional members': (payment) => ({ ...payment, resource: null, extensions: null }),
  }))
    it(`[5.3.2] is sold with ${name}, and reaches the facilitator without it`, async () => {
      const { verify } = sale.script
      sale.script.verify = (sent) => (expect(JSON.stringify(sent)).to.not.match(/null|eip3009/), verify(sent))
      expect((await sale.lookup(change(await signedPayment()))).kind).to.equal('answer')
    })

  for (const { name, reason, code = 'payment_invalid', calls = [], sign, change, headers } of CASES) {
    it(`has ${name}`, async () => {
      const payment = await signedPayment(sign)
      const outcome = await sale.perform(
        LOOKUP,
        headers ? headers(payment) : [header(change ? change(payment) : payment)],
      )
      if (outcome.kind !== 'refused') throw new Error('The payment was accepted')
      expect(outcome.refusal.code).to.equal(code)
      const quote = decodePaymentRequiredHeader(outcome.quote?.header ?? '')
      expect(quote).to.include({ error: reason, x402Version: 2 })
      expect(quote.accepts).to.have.lengthOf(1)
      // Only the chain knows whether the payer is a contract wallet, and what time it is.
      expect(sale.calls).to.deep.equal(calls)
      expect(await sale.unsettledRecords()).to.deep.equal([])
    })
  }

  describe('with a clock that stands still', () => {
    const now = Math.floor(Date.now() / 1000)
    const later = (left: number) => String(now + left)

    beforeEach(() => {
      sale.now = () => new Date(now * 1000)
    })
    afterEach(() => {
      sale.now = () => new Date()
    })

    for (const [member, left, kind] of [
      ['validBefore', 14, 'refused'],
      ['validBefore', 15, 'answer'],
      ['validBefore', 3_660, 'answer'],
      ['validBefore', 3_661, 'refused'],
      ['validAfter', -1, 'answer'],
      ['validAfter', 0, 'refused'],
      ['validAfter', 1, 'refused'],
    ] as const)
      it(`[5.3.3] gets ${kind === 'answer' ? 'an answer' : 'a refusal'} if ${member} is ${left} s away`, async () => {
        const authorization = { validBefore: later(300), [member]: later(left) }
        expect((await sale.lookup(await signedPayment({ authorization }))).kind).to.equal(kind)
      })

    for (const left of [14, 1])
      it(`[5.7.12] waits for a block after validBefore if that is ${left} s away, and says so`, async () => {
        const authorization = { validAfter: '1', validBefore: later(left) }
        expect(await sale.lookup(await signedPayment({ authorization })))
          .to.have.property('refusal')
          .that.includes({
            code: 'payment_verification_unavailable',
            field: 'validBefore',
            retryAfterSeconds: left + 5,
          })
      })
  })
})
