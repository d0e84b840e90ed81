/** Why a row of a list has its decision, in words, what its review shows, and its dates. */
import { join } from 'node:path'
import { expect } from 'chai'
import { lookup } from '../../../agent/operation/lookup.ts'
import { resolve } from '../../../agent/operation/resolve.ts'
import { readList } from '../../../buyer/lists/list.ts'
import { addedFields, addedHeader, whyOf } from '../../../buyer/lists/result-columns.ts'
import { writeReview } from '../../../buyer/lists/review.ts'
import { parseTable } from '../../../buyer/table/read-table.ts'
import { readTable } from '../../../buyer/table/table-file.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const answer = resolve.exampleAnswer('testnet')
const RELATED = { company_number: '200095', legal_name: 'NAMED LIMITED', status: 'Normal' }

describe('the reason of a row', () => {
  const resultWith = (status: 'conflicting' | 'ambiguous', relation: 'same_name' | 'similar') => {
    const candidates = [{ ...answer.candidates[0]!, conflicts: ['name_mismatch' as const] }]
    const related = [{ ...RELATED, relation }]
    return { kind: 'bought', purchase: 'x', answer: { ...answer, status, match: null, candidates, related } } as const
  }
  const whyWith = (...given: Parameters<typeof resultWith>) => whyOf(resultWith(...given))

  it('names the company of the name, if the number is that of another company', () => {
    expect(whyWith('conflicting', 'same_name')).to.match(
      /: the company with this number has another name.* \| 200095 NAMED LIMITED: has the name of the row$/,
    )
  })

  it('is that of the review too, which shows the company of the name after the candidates', async () => {
    const path = join(await makeTemporaryDirectory(), 'review.csv')
    const table = await parseTable(Buffer.from('Company,CRO\nNamed,1\n'), { name: 'x' })
    const { rows } = readList(table, { columns: { name: 1, company_number: 2 }, headerRow: 1 })
    const result = resultWith('conflicting', 'same_name')
    await writeReview(path, [{ listed: rows[0]!, isChosen: false, result }], table.format)
    const [head = [], ...shown] = (await readTable(path)).rows
    const cellsOf = (row: readonly unknown[]) =>
      ['decision', 'candidate_number', 'candidate_name', 'candidate_reason'].map((name) => row[head.indexOf(name)])
    const { company } = answer.candidates[0]!
    expect(shown.map((row) => cellsOf(row).join('|'))).to.deep.equal([
      `conflicting|${company.company_number}|${company.legal_name}|the company with this number has another name`,
      'conflicting|200095|NAMED LIMITED|has the name of the row',
    ])
  })

  it('names no other company that is no candidate', () => {
    expect(whyWith('ambiguous', 'same_name')).not.to.contain('200095')
    expect(whyWith('conflicting', 'similar')).not.to.contain('200095')
  })
})

describe('the reason of a row whose name no company has', () => {
  const none = { ...answer, status: 'no_match' as const, match: null, candidates: [], related: [] }
  const former = {
    company_number: '22',
    legal_name: 'NAMED LIMITED',
    relation: 'former_name',
    until: '2026-02-03',
  } as const
  const whyOfPast = (past: typeof answer.past) => whyOf({ kind: 'bought', purchase: 'x', answer: { ...none, past } })

  it('names the company that had it, in an earlier file of the register', () => {
    const past = { complete_since: '2026-01-01', companies: [former] }
    expect(whyOfPast(past)).to.equal('22 NAMED LIMITED: had this name until 2026-02-03')
    expect(whyOfPast({ ...past, companies: [{ ...former, relation: 'removed' }] })).to.equal(
      '22 NAMED LIMITED: in the register until 2026-02-03',
    )
    expect([whyOfPast({ ...past, companies: [] }), whyOfPast(null)]).to.deep.equal(
      Array(2).fill('no company has such a name'),
    )
  })
})

describe('the dates of a row', () => {
  it('are dates from 1900 on, and earlier ones text, which a sheet would show as a time', () => {
    const bought = lookup.exampleAnswer('testnet')
    const shown = ['1881-06-14', '1899-12-31', '1900-01-01', '2021-01-19'].map((registered_date) => {
      const result = {
        kind: 'found',
        purchase: 'x',
        answer: { ...bought, company: { ...bought.company, registered_date } },
      }
      const options = { today: '2026-11-30', hasAllColumns: false, receiptFolder: 'x' }
      const cells = addedFields(result as Parameters<typeof addedFields>[0], [], options)
      return cells[addedHeader([], false).indexOf('registered_date')]
    })
    const dates = ['1900-01-01', '2021-01-19'].map((day) => new Date(day))
    expect(shown).to.deep.equal(['1881-06-14', '1899-12-31', ...dates])
  })
})
