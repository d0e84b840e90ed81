/** What a request offers: read anew unless it has bought an answer, and always for the operation it comes with. */
import { expect } from 'chai'
import { Offers } from '../../../agent/executor/offers.ts'
import type { Operation } from '../../../agent/operation/schema.ts'
import { header, signedPayment } from '../../support/payments.ts'

const lookup = (company_number: string): Operation => ({ operation: 'lookup', input: { company_number } })

describe('an offer', () => {
  let offers: Offers
  let payment: string

  beforeEach(async () => {
    offers = new Offers()
    payment = header(await signedPayment())
  })

  const bought = (operation: Operation) => {
    const offer = offers.read([payment], operation)
    offers.remember([payment], operation, offer)
    return offer
  }

  it('that has bought an answer is not read again', () => {
    const offer = bought(lookup('73848'))
    expect(offer.kind).to.equal('payment')
    expect(offers.read([payment], lookup('73848'))).to.equal(offer)
  })

  it('that has bought nothing is not remembered, so that nobody fills the memory for nothing', () => {
    const offer = offers.read([payment], lookup('73848'))
    const again = offers.read([payment], lookup('73848'))
    expect(again).to.deep.equal(offer)
    expect(again).to.not.equal(offer)
  })

  it('is bound to the operation it comes with, whatever the same header has bought', () => {
    const first = bought(lookup('73848'))
    const other = offers.read([payment], lookup('104547'))
    expect(first)
      .to.have.property('digest')
      .that.matches(/^[0-9a-f]{64}$/)
    expect(other)
      .to.have.property('digest')
      .that.does.not.equal(first.kind === 'payment' && first.digest)
    expect(other).to.have.property('hash', first.kind === 'payment' && first.hash)
  })

  it('is unreadable where a known header comes twice, or with another', async () => {
    bought(lookup('73848'))
    for (const more of [payment, '', header(await signedPayment())]) {
      const offer = offers.read([payment, more], lookup('73848'))
      expect(offer).to.deep.equal({ kind: 'unreadable', reason: 'invalid_payload' })
    }
  })

  it('is none without a header, and unreadable with an empty one', () => {
    expect(offers.read([], lookup('73848'))).to.deep.equal({ kind: 'none' })
    expect(offers.read([''], lookup('73848'))).to.deep.equal({ kind: 'unreadable', reason: 'invalid_payload' })
  })

  it('that could not be read is not remembered', () => {
    const offer = offers.read(['x'], lookup('73848'))
    offers.remember(['x'], lookup('73848'), offer)
    expect(offer.kind).to.equal('unreadable')
    expect(offers.read(['x'], lookup('73848'))).to.not.equal(offer)
  })
})
