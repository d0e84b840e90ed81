/** The figures in docs/benchmarks.md, from the files of the programs in docs/benchmarks. */
import { PERF_TARGETS, type PerfRowId } from './targets.ts'
import { markdown } from './report.ts'

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
]

/** @param files the files of the programs, by name. @returns the page with their figures */
export function withFigures(page: string, files: ReadonlyMap<string, string>): string {
  const figures = withTable(page, 'figures', figureTable(files.get('perf') ?? ''))
  return withTable(figures, 'engines', engineTable(files.get('quality') ?? ''))
}

/** Replaces what is between the two comments with this name. */
function withTable(page: string, name: string, table: string): string {
  const begin = `<!-- ${name}: written by \`npm run proof\` -->`
  const end = `<!-- end of ${name} -->`
  const [before, rest] = page.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`The page has no place for the table "${name}".`)
  return `${before}${begin}\n\n${table}\n\n${end}${after}`
}

function figureTable(perf: string): string {
  const columns = ['row', 'unit', 'value', 'baseline', 'its value', 'ratio']
  return markdown(
    columns,
    FIGURES.map((id) => columns.map((column) => readCell(perf, id, column))),
  )
}

/** The comparison of all engines. */
function engineTable(quality: string): string {
  return /^\|[ |]+queries[^]*?(?=\n\n)/m.exec(quality)?.[0] ?? 'not measured'
}

function readCell(table: string, id: PerfRowId, column: string): string {
  const lines = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
  const headings = lines.find((cells) => cells.includes('row') && cells.includes(column)) ?? []
  const cells = lines.find((each) => each[headings.indexOf('row')] === PERF_TARGETS[id].row)
  return cells?.[headings.indexOf(column)] ?? 'not measured'
}
