/** The budget of a client address: what requests cost, what is given back, and the look-ups of a spent budget. */
import { expect } from 'chai'
import { AddressBudgets, REQUESTS_IN_PROGRESS_MAX, WEIGHTS } from '../../../../agent/sale/limits/address-budget.ts'
import type { Refused } from '../../../../agent/operation/outcome.ts'

const [ONE, OTHER] = ['192.0.2.1', '192.0.2.2']
const retryAfter = (refused: Refused | undefined) => refused?.refusal.retryAfterSeconds

describe('the budget of a client address', () => {
  let now: number
  let budgets: AddressBudgets

  beforeEach(() => {
    now = 0
    budgets = new AddressBudgets({ perMinute: 10, clock: () => now, addressesMax: 2 })
  })

  const spend = (address: string, units: number) => budgets.enter(address).spend(units)

  it('[6.2.2] refuses the request that would exceed it, with the seconds until it is possible', () => {
    expect(spend(ONE, 10)).to.equal(undefined)
    expect(retryAfter(spend(ONE, 1))).to.equal(61)
    now = 60_999
    expect(retryAfter(spend(ONE, 1))).to.equal(1)
    now = 61_000
    expect(spend(ONE, 10)).to.equal(undefined)
  })

  it('[6.2.2] is not spent by a request that is refused, nor by another address', () => {
    spend(ONE, 8)
    expect(spend(ONE, 5)?.refusal.code).to.equal('rate_limited')
    expect(spend(ONE, 2)).to.equal(undefined)
    expect(spend(OTHER, 10)).to.equal(undefined)
  })

  it('[6.2.2] is raised to the cost of a request once, and returned in full', () => {
    const request = budgets.enter(ONE)
    for (const units of [1, 5, 1, 5]) expect(request.raiseTo(units)).to.equal(undefined)
    expect(request.spend(3)).to.equal(undefined)
    expect(spend(ONE, 3)?.refusal.code).to.equal('rate_limited')
    request.refund()
    request.refund()
    expect(spend(ONE, 10)).to.equal(undefined)
    expect(spend(ONE, 1)?.refusal.code).to.equal('rate_limited')
  })

  it('[6.2.8] admits one look-up every two seconds when it is spent, and nothing else', () => {
    spend(ONE, 10)
    const first = budgets.enter(ONE)
    expect(budgets.enter(ONE).admit({ mayReplay: false })?.refusal.code).to.equal('rate_limited')
    expect(first.admit({ mayReplay: true })).to.equal(undefined)
    expect(first.raiseTo(WEIGHTS.payment)?.refusal.code).to.equal('rate_limited')
    expect(retryAfter(budgets.enter(ONE).admit({ mayReplay: true }))).to.equal(2)
    now = 1_999
    expect(retryAfter(budgets.enter(ONE).admit({ mayReplay: true }))).to.equal(1)
    now = 2_000
    expect(budgets.enter(ONE).admit({ mayReplay: true })).to.equal(undefined)
  })

  it('forgets the address that was idle longest', () => {
    spend(ONE, 10)
    spend(OTHER, 10)
    expect(budgets.countSpent()).to.equal(2)
    spend(ONE, 1)
    spend('192.0.2.3', 10)
    expect(spend(ONE, 1)?.refusal.code).to.equal('rate_limited')
    expect(spend(OTHER, 1)).to.equal(undefined)
  })

  it('[6.2.4] counts 64 sales of an address in progress, until their work has ended', () => {
    expect(REQUESTS_IN_PROGRESS_MAX).to.equal(64)
    const running = Array.from({ length: 64 }, () => budgets.enter(ONE).begin())
    expect(running).not.to.include(undefined)
    expect(budgets.enter(ONE).begin()).to.equal(undefined)
    expect(budgets.enter(OTHER).begin()).not.to.equal(undefined)
    running[0]?.[Symbol.dispose]()
    expect(budgets.enter(ONE).begin()).not.to.equal(undefined)
    expect(budgets.enter(ONE).begin()).to.equal(undefined)
  })

  it('[6.2.3] gets the unit of a quote back with the payment of the sale', () => {
    spend(ONE, WEIGHTS.request)
    now = 5_000
    const sale = budgets.enter(ONE)
    sale.spend(WEIGHTS.payment)
    sale.refundSale()
    expect(spend(ONE, 10)).to.equal(undefined)
  })

  it('[6.2.8] pays for a stored response by its size above 16 KiB, and for one every two seconds if it is spent', () => {
    const replay = (bytes: number) => budgets.enter(ONE).chargeReplay(bytes)
    expect(replay(16_384)).to.equal(undefined)
    expect(replay(16_384 + 10 * 4_096)).to.equal(undefined)
    expect(spend(ONE, 1)?.refusal.code).to.equal('rate_limited')
    expect(replay(16_384)).to.equal(undefined)
    expect(replay(16_385)).to.equal(undefined)
    expect(retryAfter(replay(16_385))).to.equal(2)
    now = 2_000
    const request = budgets.enter(ONE)
    for (const limited of [request.admit({ mayReplay: true }), request.chargeReplay(1_048_576)])
      expect(limited).to.equal(undefined)
    expect(replay(16_385)?.refusal.code).to.equal('rate_limited')
  })
})
