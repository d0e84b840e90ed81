/** The table of capacity in docs/operations.md, which `bench report` writes from the rows of `perf`. */
import { markdown } from './markdown.ts'
import { PERF_TARGETS, type PerfRowId } from './targets.ts'

const BEGIN = '<!-- capacity: written by `npm run bench -- report` -->'
const END = '<!-- end of capacity -->'
const MINUTE_MS = 60_000
const OPEN_PAYMENTS = 1_800

/** Deployments, with the row that has their rate. The rows with two processes have that of one process as their baseline. */
const DEPLOYMENTS: readonly [deployment: string, row: PerfRowId, column: 'value' | 'its value'][] = [
  ['one process, LMDB, a core of its own', 'paid rate', 'value'],
  ['one process, PostgreSQL, a core of its own', 'postgres rate', 'value'],
  ['one process, LMDB, two cores shared with everything else', 'lmdb two', 'its value'],
  ['two processes, LMDB, the same two cores', 'lmdb two', 'value'],
  ['one process, PostgreSQL, two cores shared with everything else', 'postgres two', 'its value'],
  ['two processes, PostgreSQL, the same two cores', 'postgres two', 'value'],
]

/** Undefined if a row is missing. @param perf the Markdown output of `perf` */
export function capacityTable(perf: string): string | undefined {
  const rows = readRows(perf)
  const read = (id: PerfRowId, column: string) => rows.get(PERF_TARGETS[id].row)?.get(column)
  const cpu = Number(read('open payments', 'value')) - Number(read('open payments', 'its value'))
  const lines = DEPLOYMENTS.map(([deployment, id, column]) => [deployment, read(id, column) ?? '', openPayments(cpu)])
  if (Number.isNaN(cpu) || lines.some(([, rate]) => rate === '')) return undefined
  return markdown(['deployment', 'sales a second', 'open payments that occupy a tenth of one core'], lines)
}

/** All processes reconcile the payments of the log they share, so a second process adds none. */
function openPayments(cpuMs: number): string {
  const count = (OPEN_PAYMENTS * MINUTE_MS) / 10 / cpuMs
  return String(Number(count.toPrecision(2)))
}

/** By name, the cells of each row by heading. */
function readRows(table: string): Map<string, Map<string, string>> {
  const [headings = [], , ...rows] = table
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
  const cells = rows.map((row) => new Map(headings.map((heading, index) => [heading, row[index] ?? ''])))
  return new Map(cells.map((row) => [row.get('row') ?? '', row]))
}

/** Replaces the table between the two comments. */
export function withCapacityTable(operations: string, table: string): string {
  const [before, rest] = operations.split(BEGIN)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined) throw new Error('docs/operations.md has no place for the table')
  return `${before}${BEGIN}\n\n${table}\n\n${END}${after}`
}
