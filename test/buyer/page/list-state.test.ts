/** A bought list as data: what its rows show, their counts, and the trail of a person. */
import { expect } from 'chai'
import { reconcileCommand } from '../../../buyer/page/lists/reconcile-command.ts'
import {
  describeSummary,
  describeTrail,
  findRecord,
  nextUndecided,
  showRow,
  summarise,
  type KnownRow,
  type Step,
} from '../../../buyer/page/lists/state.ts'
import { parseRow, type RowCells, type RowResult } from '../../../buyer/lists/rows.ts'
import { resolve } from '../../../agent/operation/resolve.ts'
import type { Company } from '../../../store/dataset/company.ts'

const answer = resolve.exampleAnswer('testnet')
const [first] = answer.candidates

const companyNamed = (company_number: string, change: Partial<Company> = {}): Company => ({
  ...first!.company,
  company_number,
  ...change,
})
const resolved = (companies: readonly Company[], isMatched = false): RowResult => {
  const candidates = companies.map((company) => ({ ...first!, company }))
  const match = isMatched ? (candidates[0] ?? null) : null
  const status = isMatched ? 'matched' : candidates.length > 0 ? 'ambiguous' : 'no_match'
  return { kind: 'bought', answer: { ...answer, status, candidates, match }, purchase: 'p.json' }
}
const known = (result: RowResult, cells: RowCells = { name: 'Foo Ltd' }, key = 'row-1'): KnownRow => ({
  listed: { ...parseRow(cells), at: 2, row: [], cells },
  key,
  result,
})
const step = (kind: Step['kind'], more: Partial<Step> = {}): Step => ({
  kind,
  at: '2026-11-29T17:50:12.000Z',
  note: '',
  ...more,
})
const twins = known(resolved([companyNamed('11'), companyNamed('12')]))

describe('a list as the page shows it', () => {
  it('has each row in one group, with a decision and a reason in words', () => {
    const rows: [KnownRow, group: string, decision: string, why: string][] = [
      [known(resolved([companyNamed('11')], true)), 'matched', 'matched', 'equal name'],
      [twins, 'undecided', 'to decide', 'another company has the same name'],
      [known(resolved([])), 'unmatched', 'no match', 'no company has this name'],
      [
        known({ kind: 'refused', code: 'company_not_found' }, { company_number: '99' }),
        'unmatched',
        'no match',
        'no company has this number',
      ],
      [known({ kind: 'empty' }, {}), 'unread', 'not read', 'no name and no number'],
      [known({ kind: 'empty' }, { name: 'x' }), 'unread', 'not read', 'name must have 3 to 160 characters'],
      [known({ kind: 'left', isOpen: true }), 'open', 'no answer yet', 'a payment without an answer'],
      [known({ kind: 'left', isOpen: false }), 'unpaid', 'not bought', ''],
    ]
    for (const [row, ...shown] of rows) {
      const { group, decision, why } = showRow(row)
      expect([group, decision, why.replace(/^equal name.*/, 'equal name')]).to.deep.equal(shown)
      expect(`${decision} ${why}`).to.not.match(/points|_|ASCII|normalisation|invalid body/)
    }
  })

  it('asks with name, read number and Eircode', () => {
    const cells = { name: 'Foo Ltd', company_number: 'S-1001', eircode: 'D02 X285', address: 'Cork' }
    expect(showRow(known(resolved([]), cells)).asked).to.deep.equal(['Foo Ltd', 'D02 X285'])
    expect(showRow(known(resolved([]), { ...cells, company_number: 'CRO 73,848' })).asked).to.deep.equal([
      'Foo Ltd',
      'CRO 73,848',
      'D02 X285',
    ])
  })

  it('counts groups, and companies that are dissolved, in liquidation or strike-off listed', () => {
    const dissolved = companyNamed('11', { dissolved_date: '2024-01-02' })
    const stopped = companyNamed('12', { status: 'Liquidation', dissolved_date: null })
    const listed = companyNamed('13', { status: 'Strike Off Listed', dissolved_date: null })
    const live = companyNamed('14', { status: 'Normal', dissolved_date: null })
    const rows = [...[dissolved, dissolved, stopped, listed, live].map((each) => known(resolved([each], true))), twins]
    const filters = summarise(rows.map((row) => showRow(row)))
    expect(describeSummary(filters)).to.equal(
      '5 matched (2 dissolved, 1 in liquidation, 1 strike-off listed), 1 to decide',
    )
    const counts = filters.map(({ accepts }) => rows.map((row) => showRow(row)).filter(accepts).length)
    expect(counts).to.deep.equal([5, 2, 1, 1, 1])
  })

  it('has the last choice of a person, also against a match, and none of the candidates', () => {
    const matched = known(resolved([companyNamed('11'), companyNamed('12')], true))
    for (const row of [twins, matched]) {
      const chosen = showRow(row, [step('none'), step('chosen', { number: '12', note: 'by phone' }), step('noted')])
      expect([chosen.group, chosen.decision, chosen.company?.company_number, chosen.note]).to.deep.equal([
        'matched',
        'chosen',
        '12',
        'by phone',
      ])
      const none = showRow(row, [step('chosen', { number: '12' }), step('none')])
      expect([none.group, none.decision, none.company]).to.deep.equal(['unmatched', 'none of these', undefined])
      expect(showRow(row, [step('none'), step('undone')])).to.deep.equal(showRow(row))
    }
    // A candidate that the answer does not have is no choice.
    expect(showRow(twins, [step('chosen', { number: '99' })]).company).to.equal(undefined)
  })

  it('goes to the next row that is to decide, and then to the first one', () => {
    const decided = showRow(twins, [step('none')])
    const open = showRow(twins)
    expect(nextUndecided([open, decided, open], 1)).to.equal(2)
    expect(nextUndecided([open, decided, decided], 1)).to.equal(0)
    expect(nextUndecided([decided, decided], 0)).to.equal(undefined)
    expect(nextUndecided([], 0)).to.equal(undefined)
  })

  it('writes the trail of a row in one cell', () => {
    const steps = [step('noted', { note: 'ask Mary' }), step('chosen', { number: '12' }), step('undone'), step('none')]
    const time = '2026-11-29 17:50 UTC'
    expect(describeTrail(steps)).to.equal(
      `${time} note: ask Mary; ${time} chosen 12; ${time} taken back; ${time} none of these`,
    )
    expect(describeTrail([])).to.equal('')
  })

  it('finds a record among all answers, also that of a candidate', () => {
    const rows = [known({ kind: 'empty' }, {}), twins].map((row) => showRow(row))
    expect(findRecord(rows, '12')?.company.company_number).to.equal('12')
    expect(findRecord(rows, '12')?.purchase).to.equal('p.json')
    expect(findRecord(rows, '13')).to.equal(undefined)
  })

  it('has a command for a longer list in which no name of a file is a part of the shell or an option', () => {
    const offered = { rows: 1_001, headerRow: 2, baseUrl: 'https://x.example', account: '' }
    const columns = { name: 2, address: [4, 5] }
    const command = reconcileCommand({
      ...offered,
      file: `-it's $(1).csv`,
      mode: 'mainnet',
      columns,
      encoding: 'cp850',
    })
    expect(command).to.equal(
      `irish-company-agent-client reconcile './-it'\\''s $(1).csv' --header-row 2 --column 2 --number-column none ` +
        '--eircode-column none --address-column 4 --address-column 5 --encoding cp850 --max-total 20.02 --batch ' +
        '--url https://x.example --mode mainnet --key-file buyer.key',
    )
    const test = reconcileCommand({
      ...offered,
      file: 'a.csv',
      mode: 'testnet',
      columns: { company_number: 1 },
      headerRow: 0,
      sheet: '-2026',
    })
    expect(test).to.match(/ 'a.csv' --no-header --column none --number-column 1 .* --sheet '-2026' /)
    expect(test).to.not.contain('--max-total')
  })
})
