/** The payment decoder: what it decodes, and what its cache keeps. */
import { expect } from 'chai'
import { PaymentDecoder } from '../../../agent/sale/decode-payment.ts'
import type { Operation } from '../../../agent/operation/operation.ts'
import { header, signedPayment } from '../../support/payments.ts'

const lookup = (company_number: string): Operation => ({ operation: 'lookup', input: { company_number } })

describe('the payment decoder', () => {
  let decoder: PaymentDecoder
  let paymentHeader: string

  beforeEach(async () => {
    decoder = new PaymentDecoder()
    paymentHeader = header(await signedPayment())
  })

  const decodeAndRemember = (operation: Operation) => {
    const decoded = decoder.decode([paymentHeader], operation)
    decoder.remember([paymentHeader], operation, decoded)
    return decoded
  }

  it('returns the cached payment after remember', () => {
    const decoded = decodeAndRemember(lookup('73848'))
    expect(decoded.kind).to.equal('payment')
    expect(decoder.decode([paymentHeader], lookup('73848'))).to.equal(decoded)
  })

  it('caches no payment without remember', () => {
    const decoded = decoder.decode([paymentHeader], lookup('73848'))
    const again = decoder.decode([paymentHeader], lookup('73848'))
    expect(again).to.have.property('identity', decoded.kind === 'payment' && decoded.identity)
    expect(again).to.not.equal(decoded)
  })

  it('computes the digest of the operation in the request, also for a cached header', () => {
    const first = decodeAndRemember(lookup('73848'))
    const other = decoder.decode([paymentHeader], lookup('104547'))
    if (first.kind !== 'payment' || other.kind !== 'payment') throw new Error('The payment was not decoded')
    const [firstBinding, otherBinding] = [first, other].map((payment) => payment.parse()?.bind())
    expect(firstBinding?.operation_digest).to.match(/^[0-9a-f]{64}$/)
    expect(otherBinding?.operation_digest).to.not.equal(firstBinding?.operation_digest)
    expect(otherBinding?.payment_hash).to.equal(firstBinding?.payment_hash)
  })

  it('refuses two headers, also when the first one is cached', async () => {
    decodeAndRemember(lookup('73848'))
    for (const second of [paymentHeader, '', header(await signedPayment())]) {
      const decoded = decoder.decode([paymentHeader, second], lookup('73848'))
      expect(decoded).to.deep.equal({ kind: 'unreadable', reason: 'invalid_payload' })
    }
  })

  it('distinguishes no header from an empty header', () => {
    expect(decoder.decode([], lookup('73848'))).to.deep.equal({ kind: 'none' })
    expect(decoder.decode([''], lookup('73848'))).to.deep.equal({ kind: 'unreadable', reason: 'invalid_payload' })
  })

  it('caches no unreadable payment', () => {
    const decoded = decoder.decode(['x'], lookup('73848'))
    decoder.remember(['x'], lookup('73848'), decoded)
    expect(decoded.kind).to.equal('unreadable')
    expect(decoder.decode(['x'], lookup('73848'))).to.not.equal(decoded)
  })
})
