/** Limits of the payment header that hold before its JSON is parsed. */
import { expect } from 'chai'
import fc from 'fast-check'
import { parsePayment, parsePaymentHeaders } from '../../../agent/payments/headers.ts'
import { header, signedPayment, type WirePayment } from '../../support/payments.ts'

const toBase64 = (json: string) => Buffer.from(json).toString('base64')
const nested = (depth: number): unknown => (depth === 0 ? 0 : [nested(depth - 1)])

describe('the limits of a payment header', () => {
  let payment: WirePayment

  before(async () => {
    payment = await signedPayment()
  })

  const kindOf = (text: string) => parsePaymentHeaders([text]).kind
  const withMember = (value: unknown) => header({ ...payment, more: value })

  it('[5.3.1] accepts 8 KiB and refuses a byte more', () => {
    const filled = (length: number) => toBase64(JSON.stringify(payment).padEnd(length))
    expect([filled(6_144).length, filled(6_145).length]).to.deep.equal([8_192, 8_196])
    expect(kindOf(filled(6_143))).to.equal('payment')
    expect(kindOf(filled(6_144))).to.equal('payment')
    expect(kindOf(filled(6_145))).to.equal('unreadable')
  })

  it('[5.3.1] accepts 24 levels and refuses 25', () => {
    // The payment itself is the first level.
    expect(kindOf(withMember(nested(22)))).to.equal('payment')
    expect(kindOf(withMember(nested(23)))).to.equal('payment')
    expect(kindOf(withMember(nested(24)))).to.equal('unreadable')
  })

  it('[5.3.1] accepts 128 commas outside of strings and refuses 129', () => {
    const commas = JSON.stringify({ ...payment, more: [0] }).split(',').length - 1
    const withCommas = (count: number) => withMember(Array(count - commas + 1).fill(0))
    expect(kindOf(withCommas(127))).to.equal('payment')
    expect(kindOf(withCommas(128))).to.equal('payment')
    expect(kindOf(withCommas(129))).to.equal('unreadable')
  })

  it('does not count commas and brackets in strings', () => {
    for (const text of [',[{'.repeat(200), '",[{'.repeat(200), '\\",[{'.repeat(200), '\\'.repeat(201)])
      expect(kindOf(withMember(text)), text.slice(0, 5)).to.equal('payment')
  })

  it('ends at a string without an end', () => {
    expect(kindOf(toBase64(`${JSON.stringify(payment).slice(0, -1)},"more":"`))).to.equal('unreadable')
  })

  it('[5.3.1] accepts only the one standard base64 text of the bytes', () => {
    const texts = [1, 2, 3].map((length) => header({ ...payment, more: 'a'.repeat(length) }))
    for (const text of texts) expect(kindOf(text)).to.equal('payment')
    const [one = '', two = ''] = [texts.find((text) => text.endsWith('==')), texts.find((text) => /[^=]=$/.test(text))]
    // The last character before the padding has bits that do not belong to a byte.
    for (const text of [one, two]) {
      const padding = text.slice(text.indexOf('='))
      const last = text.at(-padding.length - 1) ?? ''
      const other = String.fromCharCode(last.charCodeAt(0) + 1)
      expect(kindOf(`${text.slice(0, -padding.length - 1)}${other}${padding}`)).to.equal('unreadable')
      expect(kindOf(text.slice(0, -1))).to.equal('unreadable')
      expect(kindOf(`${text}=`)).to.equal('unreadable')
      expect(kindOf(` ${text.slice(1)}`)).to.equal('unreadable')
    }
  })

  it('refuses every text that does not encode its own bytes', () => {
    const text = withMember('aa')
    const characters = ' -_%=+/Aa0\n'.split('')
    const changed = fc.array(fc.tuple(fc.nat(text.length - 1), fc.constantFrom(...characters)), { maxLength: 3 })
    const property = fc.property(changed, fc.integer({ min: text.length - 5, max: text.length }), (changes, length) => {
      const all = text.split('')
      for (const [index, character] of changes) all[index] = character
      const sent = all.slice(0, length).join('')
      const isEncoding = Buffer.from(sent, 'base64').toString('base64') === sent
      if (!isEncoding) expect(kindOf(sent)).to.equal('unreadable')
    })
    fc.assert(property, { numRuns: 2_000 })
  })

  it('reads the rest of the payment only on request', () => {
    const read = parsePaymentHeaders([header({ ...payment, payload: { ...payment.payload, signature: 'no' } })])
    if (read.kind !== 'payment') throw new Error('The payment was refused')
    expect(parsePayment(read.json)).to.equal(undefined)
  })
})
