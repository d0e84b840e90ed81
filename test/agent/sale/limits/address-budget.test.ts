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

  it('[6.2.3] admits one look-up every two seconds when it is spent, and nothing else', () => {
    spend(ONE, 10)
    const first = budgets.enter(ONE)
    expect(first.chargeRecordLookUp()).to.equal(undefined)
    // The transport and the executor both begin the look-up.
    expect(first.chargeRecordLookUp()).to.equal(undefined)
    expect(first.raiseTo(WEIGHTS.payment)?.refusal.code).to.equal('rate_limited')
    now = 1_999
    expect(budgets.enter(ONE).chargeRecordLookUp()?.refusal.code).to.equal('rate_limited')
    now = 2_000
    expect(budgets.enter(ONE).chargeRecordLookUp()).to.equal(undefined)
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

  it('[6.2.4] admits 64 requests of an address at once', () => {
    expect(REQUESTS_IN_PROGRESS_MAX).to.equal(64)
    const running = Array.from({ length: 64 }, () => budgets.enter(ONE))
    expect(running.at(-1)?.spend(1)).to.equal(undefined)
    const surplus = budgets.enter(ONE)
    for (const refused of [surplus.spend(1), surplus.raiseTo(1), surplus.chargeRecordLookUp()])
      expect(retryAfter(refused)).to.equal(1)
    expect(spend(OTHER, 1)).to.equal(undefined)
    surplus.leave()
    running[0]?.leave()
    expect(spend(ONE, 1)).to.equal(undefined)
    expect(spend(ONE, 1)?.refusal.code).to.equal('rate_limited')
  })
})
