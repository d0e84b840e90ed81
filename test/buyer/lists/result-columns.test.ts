/** Why a row of a list has its decision, in words. */
import { expect } from 'chai'
import { resolve } from '../../../agent/operation/resolve.ts'
import { whyOf } from '../../../buyer/lists/result-columns.ts'

const answer = resolve.exampleAnswer('testnet')
const RELATED = { company_number: '200095', legal_name: 'NAMED LIMITED', status: 'Normal' }

describe('the reason of a row', () => {
  const whyWith = (status: 'conflicting' | 'ambiguous', relation: 'same_name' | 'similar') => {
    const candidates = [{ ...answer.candidates[0]!, conflicts: ['name_mismatch' as const] }]
    const related = [{ ...RELATED, relation }]
    return whyOf({ kind: 'bought', purchase: 'x', answer: { ...answer, status, match: null, candidates, related } })
  }

  it('names the company of the name, if the number is that of another company', () => {
    expect(whyWith('conflicting', 'same_name')).to.match(
      /: the company with this number has another name.* \| 200095 NAMED LIMITED: has the name of the row$/,
    )
  })

  it('names no other company that is no candidate', () => {
    expect(whyWith('ambiguous', 'same_name')).not.to.contain('200095')
    expect(whyWith('conflicting', 'similar')).not.to.contain('200095')
  })
})
