/** What the results of the first payments say about the column of the company numbers. */
import { expect } from 'chai'
import { groupsOf } from '../../../base/groups-of.ts'
import { resolve } from '../../../agent/operation/resolve.ts'
import { checkNumbers, NumberColumnError } from '../../../buyer/lists/check-numbers.ts'
import { readList } from '../../../buyer/lists/list.ts'
import { planByName, type PlannedRow } from '../../../buyer/lists/plan.ts'
import { rowKey, type RowPurchase } from '../../../buyer/lists/purchased-rows.ts'
import { askByName, withoutNumber, type RowResult } from '../../../buyer/lists/rows.ts'
import { parseTable } from '../../../buyer/table/read-table.ts'

const COLUMNS = { number: 'the column CRO', name: 'column 2' }
const baseUrl = 'http://127.0.0.1:4021'
const UNKNOWN: RowResult = { kind: 'refused', code: 'company_not_found' }
const answer = resolve.exampleAnswer('testnet')
const RIGHT: RowResult = { kind: 'bought', answer, purchase: 'x' }
const OTHER: RowResult = {
  kind: 'bought',
  answer: {
    ...answer,
    status: 'conflicting',
    match: null,
    candidates: answer.candidates.map((each) => ({ ...each, conflicts: ['name_mismatch'] })),
  },
  purchase: 'x',
}
const BEHIND = { U: UNKNOWN, O: OTHER, R: RIGHT }

/** Rows with name and number, or only a name for `n`, of which each has the result of its letter. */
async function planOf(letters: string, size: number) {
  const lines = Array.from(letters, (letter, at) => `Sample ${at} Ltd,${letter === 'n' ? '' : at + 1}`)
  const table = await parseTable(Buffer.from(['a,b', ...lines].join('\n')), { name: 'x' })
  const { rows } = readList(table, { columns: { name: 1, company_number: 2 }, headerRow: 1 })
  const planned = rows.map((listed): PlannedRow => ({
    listed,
    operation: listed.operation,
    isChosen: false,
    known: undefined,
  }))
  const purchases = new Map<string, RowPurchase>()
  const batched = size > 1 ? planned : []
  for (const group of groupsOf(batched, size)) {
    const items = group.flatMap(({ operation }) => operation ?? [])
    const batch = { request: {} as never, items: items as never[] }
    for (const [at, operation] of items.entries())
      purchases.set(rowKey(baseUrl, operation), { state: { kind: 'unpaid' }, entry: undefined, item: { batch, at } })
  }
  return { rows: planned, purchased: { rows: purchases, refused: new Set<string>(), all: [], open: [] } }
}

async function check(letters: string, size: number, change?: (rows: PlannedRow[]) => void) {
  const plan = await planOf(letters, size)
  change?.(plan.rows)
  let bought = ''
  const buyRow = async (row: PlannedRow) => {
    const letter = letters[row.listed.at - 2]! as keyof typeof BEHIND
    bought += letter
    return BEHIND[letter]
  }
  const error = await checkNumbers(plan, buyRow, { columns: COLUMNS, baseUrl }).catch((cause: unknown) => cause)
  if (error !== undefined) expect(error).to.be.instanceOf(NumberColumnError).and.include({ argument: 'column' })
  return [bought, error === undefined ? 'goes on' : 'ends']
}

describe('[15.15] the numbers of the first payments', () => {
  for (const [letters, size, bought, end] of [
    ['RURUUU', 1, 'RUR', 'goes on'],
    ['URRR', 1, 'URR', 'goes on'],
    ['URUR', 1, 'URU', 'ends'],
    ['OORR', 1, 'OOR', 'ends'],
    ['nUnUnUR', 1, 'UUU', 'ends'],
    ['nUU', 1, '', 'goes on'],
    ['nnn', 1, '', 'goes on'],
    ['nnUUnn', 3, '', 'goes on'],
    ['nnUUUnR', 3, 'UUU', 'ends'],
    ['nUUURRU', 3, 'UUURR', 'ends'],
    ['UURRRUU', 3, 'UUR', 'ends'],
    ['UORRUUUU', 4, 'UORR', 'goes on'],
    ['UOORRRRR', 4, 'UOOR', 'ends'],
    ['UUURRRRR', 4, 'UUUR', 'ends'],
    ['nUORRRRR', 4, 'UOR', 'ends'],
    ['nnnnUURR', 4, 'UURR', 'goes on'],
  ] as const)
    it(`${end} after ${bought || 'nothing'} of ${letters}, ${size} in a payment`, async () => {
      expect(await check(letters, size)).to.deep.equal([bought, end])
    })

  it('are judged as before in a later run, in which their rows ask by name', async () => {
    const asked = (rows: PlannedRow[]) => void rows.slice(0, 2).map(planByName)
    expect(await check('UURR', 4, asked)).to.deep.equal(['RR', 'goes on'])
    expect(await check('UUOR', 4, asked)).to.deep.equal(['OR', 'ends'])
  })

  it('are not judged by a row whose number a person has chosen', async () => {
    const choose = ([row]: PlannedRow[]) => void (row!.isChosen = true)
    expect(await check('UURRU', 1, choose)).to.deep.equal(['URR', 'goes on'])
  })

  it('are counted in the error, which begins with the columns', async () => {
    const { rows, purchased } = await planOf('UOO', 4)
    const results = [UNKNOWN, OTHER, OTHER]
    const buyRow = async (row: PlannedRow) => results[row.listed.at - 2]!
    const error = await checkNumbers({ rows, purchased }, buyRow, { columns: COLUMNS, baseUrl }).catch(String)
    expect(error).to.equal(
      'Error: The column CRO has perhaps no company numbers, or column 2 no company names: of 3 rows, 1 have a number that no company has, and 2 have the number of a company with another name',
    )
  })
})

describe('[15.17] a row whose number no company has', () => {
  it('asks with everything but its number, if it has a name', async () => {
    const { rows } = await planOf('Un', 1)
    const [row, unnumbered] = rows
    expect(planByName(row!)).to.equal(true)
    expect(row).to.deep.include({ unknownNumber: '1', known: undefined })
    expect([row!.operation?.input, row!.listed.notes]).to.deep.equal([
      { name: 'Sample 0 Ltd' },
      ['no company has the number 1'],
    ])
    expect(askByName(unnumbered!.operation!)).to.equal(undefined)
  })

  it('is matched by its own Eircode only', () => {
    const matched = (eircode_exact: boolean | null): RowResult => {
      const candidates = answer.candidates.map((each) => ({ ...each, signals: { ...each.signals, eircode_exact } }))
      return {
        kind: 'bought',
        purchase: 'x',
        answer: { ...answer, status: 'matched', candidates, match: candidates[0]! },
      }
    }
    const statusOf = (result: RowResult) =>
      result.kind === 'bought' ? [result.answer.status, result.answer.match] : []
    expect(withoutNumber(matched(true))).to.deep.equal(matched(true))
    for (const fit of [false, null]) expect(statusOf(withoutNumber(matched(fit)))).to.deep.equal(['ambiguous', null])
    expect(withoutNumber(OTHER)).to.equal(OTHER)
  })
})
