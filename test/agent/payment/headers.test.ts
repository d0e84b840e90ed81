/** Limits of the payment header that hold before its JSON is parsed. */
import { expect } from 'chai'
import { SYNTHETIC_EXAMPLE } from '../../../agent/operation/examples.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import { PAYMENT_IDENTIFIER } from '../../../agent/payment/extensions.ts'
import { parsePaymentHeaders, PAYMENT_MARKS_MAX } from '../../../agent/payment/headers.ts'
import { buildQuote } from '../../../agent/payment/quote.ts'
import { amountOf, buildRequirements } from '../../../agent/payment/terms.ts'
import { header, signedPayment, testTerms, type WirePayment } from '../../support/payments.ts'

const toBase64 = (json: string) => Buffer.from(json).toString('base64')
const marksOf = (value: unknown) =>
  JSON.stringify(value)
    .replace(/"(?:[^"\\]|\\.)*"/g, '')
    .match(/[:,[{]/g)?.length ?? 0
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

  it('[5.3.1] accepts 300 colons, commas and opening brackets outside of strings, and refuses 301', () => {
    const withMarks = (count: number) => withMember(Array(count - marksOf({ ...payment, more: [0] }) + 1).fill(0))
    expect(kindOf(withMarks(299))).to.equal('payment')
    expect(kindOf(withMarks(300))).to.equal('payment')
    expect(kindOf(withMarks(301))).to.equal('unreadable')
  })

  it('[5.3.1] accepts a payment that repeats the whole quote, and one with 1.5 times as many marks', async () => {
    for (const definition of OPERATIONS) {
      const operation = { definition, input: { ...definition.examples(SYNTHETIC_EXAMPLE)[0] } }
      const requirements = buildRequirements(testTerms, amountOf(testTerms, operation))
      const quote = JSON.parse(
        buildQuote({
          terms: testTerms,
          operation,
          url: 'https://companies.example/api/v1/search',
          reason: 'invalid_payload',
        }).json,
      )
      const { resource, extensions } = quote as { resource: object; extensions: Record<string, object> }
      Object.assign(extensions[PAYMENT_IDENTIFIER]!, { info: { required: false, id: 'a'.repeat(128) } })
      const whole = { ...(await signedPayment({ requirements })), resource, extensions }
      expect(kindOf(header(whole))).to.equal('payment')
      expect(marksOf(whole) * 1.5).to.be.at.most(PAYMENT_MARKS_MAX)
    }
  })

  it('does not count marks in strings', () => {
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

  it('[5.3.5] refuses members of another form', () => {
    const { payload } = payment
    const accepted = payment.accepted as Record<string, unknown>
    const refuse = (change: object) =>
      expect(kindOf(header({ ...payment, ...change })), JSON.stringify(change)).to.equal('unreadable')
    const refuseAuthorization = (change: object) =>
      refuse({ payload: { ...payload, authorization: { ...payload.authorization, ...change } } })
    for (const value of ['', '0x', 1, null, [], {}, undefined]) {
      refuse({ accepted: value })
      refuse({ payload: value })
      refuse({ payload: { ...payload, authorization: value } })
      refuse({ accepted: { ...accepted, asset: value } })
      for (const member of Object.keys(payload.authorization)) refuseAuthorization({ [member]: value })
    }
    for (const network of ['', 1, null, [], undefined, 'a'.repeat(65)]) refuse({ accepted: { ...accepted, network } })
    for (const value of ['-1', '01', '1.0', '0x1', ' 1', '1e3', String(2n ** 256n), '9'.repeat(78)])
      for (const member of ['value', 'validAfter', 'validBefore']) refuseAuthorization({ [member]: value })
    for (const [member, digits] of Object.entries({ from: 40, to: 40, nonce: 64 }))
      for (const hex of ['g'.repeat(digits), 'a'.repeat(digits + 1)]) refuseAuthorization({ [member]: `0x${hex}` })
    for (const extensions of [[], 'text', 1]) refuse({ extensions })
    for (const value of [null, {}, { info: null }, { info: { id: 'short' } }, { info: { id: 1 } }, 'text', []])
      refuse({ extensions: { 'payment-identifier': value } })
  })

  it('[2.8] names the member at fault, or says what the header must be', () => {
    const { payload, ...rest } = payment
    const faultOf = (text: string) => {
      const parsed = parsePaymentHeaders([text])
      return parsed.kind === 'unreadable' && (parsed.fault.field ?? parsed.fault.detail?.slice(0, 15))
    }
    const withId = { extensions: { 'payment-identifier': { info: { id: 'short' } } } }
    const withValue = { ...payload, authorization: { ...payload.authorization, value: '01' } }
    const members = [{ x402Version: 1 }, { payload: { ...payload, signature: '0x' } }, { payload: withValue }, withId]
    const faults = members.map((change) => faultOf(header({ ...payment, ...change })))
    expect(faults).to.deep.equal(['x402Version', 'signature', 'value', 'payment-identifier'])
    expect(faultOf(header(rest))).to.equal('payload')
    for (const text of ['', 'e30', '{}', header([])]) expect(faultOf(text)).to.equal('send one header')
  })

  it('[5.3.5] keeps the extensions as sent', () => {
    const extensions = { 'payment-identifier': { info: { id: 'a'.repeat(16), required: false }, more: 1 }, other: [1] }
    expect(parsePaymentHeaders([header({ ...payment, extensions })]))
      .to.have.nested.property('payment.extensions')
      .that.deep.equals(extensions)
  })

  it('[5.3.5] drops other members of payload and authorization', () => {
    const { authorization, ...payload } = payment.payload
    const sent = { ...payload, authorization: { ...authorization, more: '0' }, permit2Authorization: {} }
    const resource = { url: 'a', mimeType: null, description: 1, more: 1 }
    const parsed = parsePaymentHeaders([header({ ...payment, payload: sent, resource, more: 1 })])
    expect(parsed)
      .to.have.nested.property('payment')
      .that.has.all.keys(...Object.keys(payment), 'resource')
    expect(parsed).to.have.nested.property('payment.resource.mimeType', undefined)
    expect(parsed).to.have.nested.property('payment.payload').that.deep.equals(payment.payload)
    expect(parsed).to.have.nested.property('json.payload').that.deep.equals(sent)
  })

  it('[5.3.5] accepts members at their limits', () => {
    const { payload } = payment
    const accepted = payment.accepted as Record<string, unknown>
    const authorization = { ...payload.authorization, value: String(2n ** 256n - 1n), validAfter: '0' }
    const largest = {
      ...payment,
      accepted: { ...accepted, network: 'a'.repeat(64) },
      payload: { ...payload, authorization },
    }
    for (const extensions of [undefined, {}, { 'payment-identifier': { info: { required: false } } }])
      expect(kindOf(header({ ...largest, extensions }))).to.equal('payment')
  })
})
