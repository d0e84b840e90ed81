/** The tables that `bench report` writes into documents, from the files in docs/benchmarks. */
import { markdown } from './markdown.ts'
import { PERF_TARGETS, type PerfRowId } from './targets.ts'

/** Deployments, with the row of their rate. The rows of two processes have that of one process as their baseline. */
const DEPLOYMENTS: readonly [deployment: string, row: PerfRowId, column: 'value' | 'its value'][] = [
  ['one process, LMDB, a core of its own', 'paid rate', 'value'],
  ['one process, PostgreSQL, a core of its own', 'postgres rate', 'value'],
  ['one process, LMDB, two cores shared with everything else', 'lmdb two', 'its value'],
  ['two processes, LMDB, the same two cores', 'lmdb two', 'value'],
  ['one process, PostgreSQL, two cores shared with everything else', 'postgres two', 'its value'],
  ['two processes, PostgreSQL, the same two cores', 'postgres two', 'value'],
]

/** The rows that answer most questions about speed and size. */
const FIGURES: readonly PerfRowId[] = [
  'paid p50',
  'paid cpu',
  'paid rate',
  'postgres cpu',
  'postgres rate',
  'mcp cpu',
  'batch cpu',
  'replay p50',
  'quote cpu',
  'search fuzzy p50',
  'million p50',
  'million missed',
  'import cpu',
  'import memory',
  'start new',
  'start memory',
]

/** @returns `document` with `table` between the two comments with this name. */
export function withTable(document: string, name: string, table: string): string {
  const begin = `<!-- ${name}: written by \`npm run bench -- report\` -->`
  const end = `<!-- end of ${name} -->`
  const [before, rest] = document.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`there is no place for the table "${name}"`)
  return `${before}${begin}\n\n${table}\n\n${end}${after}`
}

/** Of the sections in this order: name, what was measured, verdict. */
export function verdictTable(sections: ReadonlyMap<string, string>): string {
  const lines = [...sections].map(([name, text]) => [
    `[${name}](benchmarks/${name}.md)`,
    // The rest is in the file of the program.
    factOf(text, 'measured').replace('see below', 'its tables').split(/[;.] /, 1)[0] ?? '',
    factOf(text, 'verdict'),
  ])
  return markdown(['program', 'measured', 'verdict'], lines)
}

export function capacityTable(perf: string): string {
  const lines = DEPLOYMENTS.map(([deployment, id, column]) => [deployment, readCell(perf, id, column)])
  return markdown(['deployment', 'sales a second'], lines)
}

export function figureTable(perf: string): string {
  const columns = ['row', 'unit', 'value', 'baseline', 'its value', 'ratio']
  return markdown(
    columns,
    FIGURES.map((id) => columns.map((column) => readCell(perf, id, column))),
  )
}

/** The comparison of all engines in the section of `quality`. */
export function engineTable(quality: string): string {
  return /^\|[ |]+queries[^]*?(?=\n\n)/m.exec(quality)?.[0] ?? 'not measured'
}

function factOf(section: string, fact: string): string {
  return new RegExp(`^- ${fact}: (.*)$`, 'm').exec(section)?.[1] ?? '-'
}

function readCell(table: string, id: PerfRowId, column: string): string {
  const lines = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
  const headings = lines.find((cells) => cells.includes('row') && cells.includes(column)) ?? []
  const cells = lines.find((each) => each[headings.indexOf('row')] === PERF_TARGETS[id].row)
  return cells?.[headings.indexOf(column)] ?? 'not measured'
}
