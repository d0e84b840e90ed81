/** What a person reads on a terminal in place of a body. */
import { expect } from 'chai'
import { toReadable } from '../../../agent/command-line/readable-answer.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'

const linesOf = (name: string) =>
  toReadable(name, OPERATIONS.find((each) => each.name === name)?.exampleAnswer('testnet')) ?? []

describe('[14.5] an answer on a terminal', () => {
  it('is a card for a company, with a line for each value', () => {
    expect(linesOf('lookup').map((line) => line.split(/ {2,}/)[0])).to.include.members([
      'company_number',
      'legal_name',
      'registered_address',
    ])
    expect(linesOf('as_of')).to.deep.equal(linesOf('lookup'))
  })

  it('begins with the verdict of a resolution, and is a table of a search, a history and changes', () => {
    expect(linesOf('resolve')[0]).to.match(/^matched: [0-9]+ EXAMPLE /)
    expect(linesOf('search')[0]).to.match(/^number +name +status +address +eircode +registered_date +score +reason/)
    expect(linesOf('history')[0]).to.match(/^from +until +state +name/)
    expect(linesOf('changes')[0]).to.match(/^date +number +kind +name/)
  })

  it('is a line for each result of a batch', () => {
    expect(linesOf('batch').map((line) => line.split(/ {2,}/).slice(0, 2))).to.deep.equal([
      ['status', 'number'],
      ['200', '00000000'],
      ['404', 'company_not_found'],
    ])
  })
})
