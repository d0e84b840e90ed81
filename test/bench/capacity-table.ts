/** The table of capacity in docs/operations.md, which `bench report` writes from the rows of `perf`. */
import { markdown } from './markdown.ts'
import { PERF_TARGETS, type PerfRowId } from './targets.ts'

const BEGIN = '<!-- capacity: written by `npm run bench -- report` -->'
const END = '<!-- end of capacity -->'

/**
 * Deployments, with the row that has their rate. The rows of two processes have that of one process as their baseline.
 */
const DEPLOYMENTS: readonly [deployment: string, row: PerfRowId, column: 'value' | 'its value'][] = [
  ['one process, LMDB, a core of its own', 'paid rate', 'value'],
  ['one process, PostgreSQL, a core of its own', 'postgres rate', 'value'],
  ['one process, LMDB, two cores shared with everything else', 'lmdb two', 'its value'],
  ['two processes, LMDB, the same two cores', 'lmdb two', 'value'],
  ['one process, PostgreSQL, two cores shared with everything else', 'postgres two', 'its value'],
  ['two processes, PostgreSQL, the same two cores', 'postgres two', 'value'],
]

/**
 * @param perf Markdown with the table of `perf`. @returns `operations` with the rates in the table between the two
 * comments
 */
export function withCapacityTable(operations: string, perf: string): string {
  const lines = DEPLOYMENTS.map(([deployment, id, column]) => [
    deployment,
    readCell(perf, PERF_TARGETS[id].row, column),
  ])
  const [before, rest] = operations.split(BEGIN)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined) throw new Error('docs/operations.md has no place for the table')
  return `${before}${BEGIN}\n\n${markdown(['deployment', 'sales a second'], lines)}\n\n${END}${after}`
}

function readCell(table: string, row: string, column: string): string {
  const lines = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
  const headings = lines.find((cells) => cells.includes('row') && cells.includes(column)) ?? []
  const cells = lines.find((each) => each[headings.indexOf('row')] === row)
  return cells?.[headings.indexOf(column)] ?? 'not measured'
}
