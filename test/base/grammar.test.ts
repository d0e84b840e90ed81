/** The grammar of counts and of sentences that end with a heading. */
import { expect } from 'chai'
import { counted, toSentence } from '../../base/grammar.ts'

describe('the grammar of a line', () => {
  it('has one row, and several or no rows', () => {
    expect([0, 1, 1200].map((count) => counted(count, 'row'))).to.deep.equal(['0 rows', '1 row', '1200 rows'])
    expect([1, 2].map((count) => counted(count, 'row needs', 'rows need'))).to.deep.equal([
      '1 row needs',
      '2 rows need',
    ])
  })

  it('has one full stop, also after a heading that ends with one', () => {
    expect(['Columns: name = Name', 'Columns: company_number = CRO No.'].map(toSentence)).to.deep.equal([
      'Columns: name = Name.',
      'Columns: company_number = CRO No.',
    ])
  })
})
