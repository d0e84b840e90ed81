/** Guesses of what a recorded payment has bought: limited for each payment over all addresses, but not for its buyer. */
import { expect } from 'chai'
import { GuessLimit } from '../../../agent/limits/guess-limit.ts'

describe('the limit of guesses', () => {
  let now: number
  let limit: GuessLimit

  beforeEach(() => {
    now = 0
    limit = new GuessLimit(() => now)
  })

  it('[6.2.6] compares 20 payloads for a payment, then one every six seconds, of all addresses together', () => {
    for (let guess = 0; guess < 20; guess += 1) {
      expect(limit.waitMs('paid', `address ${guess}`)).to.equal(0)
      limit.noteWrong('paid')
    }
    expect(limit.waitMs('paid', 'fresh')).to.equal(6_000)
    expect(limit.waitMs('other payment', 'fresh')).to.equal(0)
    now = 6_000
    expect(limit.waitMs('paid', 'fresh')).to.equal(0)
    limit.noteWrong('paid')
    expect(limit.waitMs('paid', 'fresh')).to.equal(6_000)
    now += 10 * 60_000
    expect(limit.waitMs('paid', 'fresh')).to.equal(0)
  })

  it('[6.2.6] does not limit the address that sent the right payload last', () => {
    limit.noteRight('paid', 'buyer')
    for (let guess = 0; guess < 30; guess += 1) limit.noteWrong('paid')
    expect(limit.waitMs('paid', 'buyer')).to.equal(0)
    expect(limit.waitMs('paid', 'attacker')).to.be.greaterThan(0)
    limit.noteRight('paid', 'moved')
    expect(limit.waitMs('paid', 'buyer')).to.be.greaterThan(0)
  })
})
