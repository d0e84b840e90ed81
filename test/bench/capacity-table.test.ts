/** The table of capacity, from the output of `perf`. */
import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { capacityTable, withCapacityTable } from './capacity-table.ts'
import { markdown } from './markdown.ts'
import { PERF_TARGETS, type PerfRowId } from './targets.ts'

const HEADINGS = ['command', 'row', 'unit', 'value', 'baseline', 'its value', 'ratio', 'target', 'verdict']

function perfTable(values: Partial<Record<PerfRowId, [value: string, baseline: string] | undefined>>): string {
  const lines = Object.entries(values).flatMap(([id, pair]) => {
    if (!pair) return []
    const [value, baseline] = pair
    const { row, unit } = PERF_TARGETS[id as PerfRowId]
    return [['bench', row, unit, value, 'baseline', baseline, '1', '-', '-']]
  })
  return `machine; size full\n\n${markdown(HEADINGS, lines)}\n\n5 rows`
}

const VALUES = {
  'paid rate': ['500', '400'],
  'postgres rate': ['300', '400'],
  'lmdb two': ['350', '340'],
  'postgres two': ['250', '200'],
  'open payments': ['930', '30'],
} satisfies Partial<Record<PerfRowId, [string, string]>>

describe('the table of capacity', () => {
  it('has the rate of each deployment, and the open payments of a tenth of a core', () => {
    const rows = capacityTable(perfTable(VALUES))?.split('\n').slice(2) ?? []
    const cells = rows.map((row) =>
      row
        .split('|')
        .slice(2, 4)
        .map((cell) => cell.trim()),
    )
    expect(cells).to.deep.equal(['500', '300', '340', '350', '200', '250'].map((rate) => [rate, '12000']))
  })

  it('is not made from a run without one of its rows', () => {
    for (const id of Object.keys(VALUES) as PerfRowId[])
      expect(capacityTable(perfTable({ ...VALUES, [id]: undefined }))).to.equal(undefined)
  })

  it('replaces the table in docs/operations.md, and nothing else', () => {
    const before = readFileSync(new URL(import.meta.resolve('#root/docs/operations.md')), 'utf8')
    const after = withCapacityTable(before, '| new |')
    expect(after).to.include('-->\n\n| new |\n\n<!--')
    expect(withCapacityTable(after, '| other |')).to.equal(withCapacityTable(before, '| other |'))
    expect(after.split('\n## ').length).to.equal(before.split('\n## ').length)
  })
})
