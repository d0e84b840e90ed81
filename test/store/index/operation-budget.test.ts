/** The budget of operations: exact at its limit, and closed from the first refusal on. */
import { expect } from 'chai'
import fc from 'fast-check'
import { OperationBudget } from '../../../store/index/operation-budget.ts'

describe('an operation budget', () => {
  it('[12.9] is exceeded by the first operation over the limit, and refuses every later one', () => {
    fc.assert(
      fc.property(fc.nat(1000), fc.array(fc.integer({ min: 1, max: 50 }), { maxLength: 60 }), (limit, counts) => {
        const budget = new OperationBudget(limit)
        let sum = 0
        for (const count of counts) {
          sum += count
          expect(budget.take(count)).to.equal(sum <= limit)
        }
        expect(budget.isExceeded).to.equal(sum > limit)
        if (sum <= limit) expect(budget.left).to.equal(limit - sum)
      }),
    )
  })
})
