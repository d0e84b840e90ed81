/** Queries that cannot find a company, and those that can. */
import { expect } from 'chai'
import { poorQuery } from '../../buyer/poor-query.ts'
import { parseOperation } from '../../agent/operation/operation.ts'
import { lookup } from '../../agent/operation/lookup.ts'
import { resolve } from '../../agent/operation/resolve.ts'
import { search } from '../../agent/operation/search.ts'

const judge = (definition: typeof lookup | typeof search | typeof resolve, input: object) => {
  const parsed = parseOperation(definition as typeof search, input)
  if (parsed.kind !== 'valid') throw new Error('The input is not valid')
  return poorQuery(parsed.operation)
}

describe('a query that cannot find a company', () => {
  for (const [text, shown] of [
    ['limited', /Thousands/],
    ['The Company Ltd', /Thousands/],
    ['company limited by guarantee', /Thousands/],
    ['Ireland', /Thousands/],
    ['D02 X285', /Eircode/],
    ['d6w ac12', /Eircode/],
    ['東京株式会社', /Latin/],
    ['Газпром', /Latin/],
  ] as const)
    it(`is told for "${text}", with what to type`, () => {
      expect(judge(search, { q: text })).to.match(shown)
      expect(judge(resolve, { name: text })).to.match(shown)
    })

  it('is a number of more than six digits after leading zeros', () => {
    expect(judge(lookup, { company_number: '1234567' })).to.match(/at most six digits, and this one has 7/)
    expect(judge(resolve, { company_number: '0001234567', name: 'Limited' })).to.match(/at most six digits/)
    for (const number of ['123456', '0000123456', '00000000', '7'])
      expect(judge(lookup, { company_number: number }), number).to.equal(undefined)
  })

  for (const text of ['Limited Edition', 'Ryanair Ltd', 'Ölwerk', 'Irish Asset Management', 'A65 Motors', 'Company 7'])
    it(`is not "${text}"`, () => expect(judge(search, { q: text })).to.equal(undefined))

  it('is none beside a number', () =>
    expect(judge(resolve, { name: 'Limited', company_number: '335801' })).to.equal(undefined))
})
