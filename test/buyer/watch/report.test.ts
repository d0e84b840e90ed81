/** The report of `client watch` as a table: each value is in a column that says what it is. */
import { expect } from 'chai'
import { lookup } from '../../../agent/operation/lookup.ts'
import {
  describeDue,
  describeGaps,
  describeUnreadable,
  describeWithoutRecord,
  toLines,
  toRows,
  type Section,
} from '../../../buyer/watch/report.ts'

/** The cells of each row that have a value, by their columns. */
function cellsOf(sections: readonly Section[]): object[] {
  const [columns = [], ...rows] = toRows(sections)
  return rows.map((row) =>
    Object.fromEntries(columns.flatMap((column, at) => (row[at] === '' ? [] : [[String(column), row[at]]]))),
  )
}

const GAPS = [
  { from: '2026-01-03', to: '2026-01-03' },
  { from: '2026-01-05', to: '2026-01-07' },
]

describe('[15.13] the report of watched companies', () => {
  const cases: [name: string, sections: Section[], lines: string[], rows: object[]][] = [
    [
      'the row of the list that has no number',
      describeUnreadable([3, 14]),
      ['Rows without a company number', '  3, 14'],
      [
        { row: '3', event: 'no company number' },
        { row: '14', event: 'no company number' },
      ],
    ],
    [
      'the first and the last day without a file, once',
      describeGaps([...GAPS, GAPS[0]!]),
      ['Days without a file of the register', '  2026-01-03, 2026-01-05 to 2026-01-07'],
      GAPS.map(({ from, to }) => ({ date: from, until: to, event: 'no file of the register' })),
    ],
    [
      'the number without a record',
      describeWithoutRecord(['1007'], {}),
      ['Without a record now: in no file, removed, or with contradictory records', '  1007'],
      [{ number: '1007', event: 'without a record now' }],
    ],
  ]
  for (const [name, sections, lines, rows] of cases)
    it(`has ${name}`, () => {
      expect(toLines(sections)).to.deep.equal(lines)
      expect(cellsOf(sections)).to.deep.equal(rows)
    })

  it('has the words of an annual return beside its event', () => {
    const { company } = lookup.exampleAnswer('testnet')
    const dated = { ...company, dissolved_date: null, next_annual_return_date: '2026-01-31' }
    const [row] = cellsOf(describeDue([dated], '2026-01-21'))
    expect(row).to.include({ number: company.company_number, date: '2026-01-31', event: 'annual return due' })
    expect(row)
      .to.have.property('filing')
      .that.matches(/^annual return in 10 days, file by /)
  })

  it('has each value of the last record of a number without one now', () => {
    const { company } = lookup.exampleAnswer('testnet')
    const { company_number: number, legal_name: name } = company
    const sections = describeWithoutRecord([number, '9999999'], { [number]: company })
    expect(toLines(sections).slice(1)).to.deep.equal([`  ${number}, 9999999`])
    const rows = cellsOf(sections)
    expect(rows.at(-1)).to.deep.equal({ number: '9999999', event: 'without a record now' })
    const event = 'without a record now'
    expect(rows).to.deep.include({ number, name, event, field: 'status', before: company.status })
  })

  it('has no section without items', () => {
    expect([...describeUnreadable([]), ...describeGaps([]), ...describeWithoutRecord([], {})]).to.deep.equal([])
  })
})
