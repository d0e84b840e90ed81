/** What a request offers, read once, and what a skill is handed: the time for an answer counts from the first look at it. */
import { expect } from 'chai'
import { openPurchase, shelfOf, type Order, type Seller } from '../../../agent/executor/seller.ts'
import type { Operation } from '../../../agent/operation/schema.ts'
import { header, signedPayment } from '../../support/payments.ts'

describe('the offer of a request', () => {
  const lookup = (company_number: string): Operation => ({ operation: 'lookup', input: { company_number } })
  const offerOf = (operation: Operation, ...paymentHeaders: string[]) =>
    openPurchase({ operation, paymentHeaders, resourceUrl: 'http://localhost/' } satisfies Order).offer
  let payment: string

  beforeEach(async () => (payment = header(await signedPayment())))

  it('is the same when the same is sent again', () => {
    const first = offerOf(lookup('73848'), payment)
    expect(first.kind).to.equal('payment')
    expect(offerOf(lookup('73848'), payment)).to.deep.equal(first)
  })

  it('is bound to the operation it comes with, whatever the same header came with before', () => {
    const [first, other, again] = ['73848', '104547', '73848'].map((number) => offerOf(lookup(number), payment))
    expect(again).to.deep.equal(first)
    expect(first)
      .to.have.property('digest')
      .that.matches(/^[0-9a-f]{64}$/)
    expect(other)
      .to.have.property('digest')
      .that.does.not.equal(first?.kind === 'payment' && first.digest)
    expect(other).to.have.property('hash', first?.kind === 'payment' && first.hash)
  })

  it('is unreadable where a known header comes twice or with another', async () => {
    expect(offerOf(lookup('73848'), payment).kind).to.equal('payment')
    for (const more of [payment, '', header(await signedPayment())]) {
      expect(offerOf(lookup('73848'), payment, more)).to.deep.equal({ kind: 'unreadable', reason: 'invalid_payload' })
    }
    expect(offerOf(lookup('73848'))).to.deep.equal({ kind: 'none' })
    expect(offerOf(lookup('73848'), '')).to.deep.equal({ kind: 'unreadable', reason: 'invalid_payload' })
  })
})

describe('the time for an answer', () => {
  it('begins with the first look, and is up a quarter of a second later', () => {
    let time = 1_000
    const desk = { now: () => new Date(time) }
    const seller = { catalog: { current: () => undefined }, terms: { mode: 'testnet' }, desk } as unknown as Seller
    const { isTimeUp } = shelfOf(seller)
    time = 9_000
    expect(isTimeUp()).to.equal(false)
    time = 9_250
    expect(isTimeUp()).to.equal(false)
    time = 9_251
    expect(isTimeUp()).to.equal(true)
    expect(shelfOf(seller).isTimeUp()).to.equal(false)
  })
})
