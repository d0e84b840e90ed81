/** What a skill is handed: the time for an answer counts from the first look at it. */
import { expect } from 'chai'
import { shelfOf, type Seller } from '../../../agent/executor/seller.ts'

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
