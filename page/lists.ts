/** Lists: the lines of a text or of a CSV file, bought as batches, shown as a table and saved as a CSV. */
import { toSafeCell } from '../agent/command-line/safe-cell.ts'
import { parseOperation, type Operation, type SingleDefinition } from '../agent/operation/operation.ts'
import { batch } from '../agent/operation/operations.ts'
import { create, table, type Content } from './elements.ts'
import { describeItem, type Item } from './answers.ts'

const HEADS = ['Asked', 'Decision', 'Number', 'Company'] as const
type Row = [asked: string, decision: string, number: string, company: string]
const DECIDED = new Set(['matched', 'found'])

interface List {
  batches: { operation: Operation; lines: string[] }[]
  lines: number
  /** Lines that are no valid query, or too many. */
  faults: string[]
}

/** Equal lines are bought once. A line of digits is a company number. */
export function planList(definition: SingleDefinition, text: string, linesMax: number): List {
  const lines = [...new Set(text.split(/\r?\n/).map((line) => line.trim()))].filter((line) => line !== '')
  const inputs = lines.slice(0, linesMax).map((line) => {
    const isNumber = /^\d+$/.test(line) || definition.name === 'lookup'
    return { line, input: isNumber ? { company_number: line } : { name: line } }
  })
  const isValid = ({ input }: { input: object }) => parseOperation(definition, input).kind === 'valid'
  const valid = inputs.filter(isValid)
  const faults = inputs.filter((each) => !isValid(each)).map(({ line }) => `"${line.slice(0, 40)}" is no valid query`)
  if (lines.length > linesMax) faults.push(`${lines.length - linesMax} lines above ${linesMax} are left out`)
  const size = definition.batchInputsMax ?? 1
  const batches = Array.from({ length: Math.ceil(valid.length / size) }, (_, at) => {
    const part = valid.slice(at * size, (at + 1) * size)
    const parsed = parseOperation(batch, { operation: definition.name, inputs: part.map(({ input }) => input) })
    return parsed.kind === 'valid' ? [{ operation: parsed.operation, lines: part.map(({ line }) => line) }] : []
  })
  return { batches: batches.flat(), lines: valid.length, faults }
}

/** The rows of a bought batch. The service refuses it, uncharged, if no line of it is in the register. */
export function rowsOf(lines: readonly string[], status: number, body: string): Row[] {
  const results = status === 200 ? (JSON.parse(body) as { results: Item[] }).results : []
  return lines.map((line, at) => [line, ...describeItem(results[at] ?? { status: 404, body: {} })])
}

/** The rows of a CSV file with any usual separator, in UTF-8 or Windows-1252. */
export function parseCsv(bytes: ArrayBuffer): string[][] {
  const text = decode(bytes)
  const [head = ''] = text.split(/\r?\n/, 1)
  const [separator = ','] = [',', ';', '\t', '|'].toSorted(
    (one, other) => head.split(other).length - head.split(one).length,
  )
  const cells = new RegExp(`(?:"((?:[^"]|"")*)"|([^${separator}\\r\\n]*))([${separator}]|\\r\\n|\\n|\\r|$)`, 'g')
  const rows: string[][] = [[]]
  for (const [whole, quoted, plain = '', end] of text.matchAll(cells)) {
    if (whole === '') break
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end !== separator) rows.push([])
  }
  return rows.filter((row) => row.some((cell) => cell.trim() !== ''))
}

function decode(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

export function toCsv(rows: readonly Row[]): string {
  const quote = (text: string) => `"${toSafeCell(text).replaceAll('"', '""')}"`
  return `\uFEFF${[HEADS, ...rows].map((row) => row.map(quote).join(',')).join('\r\n')}\r\n`
}

/** A table that is sorted by its heads and filtered by a text. Rows that need a person come first. */
export function listTable(rows: readonly Row[]): Content {
  let order = { at: -1, factor: 1 }
  const filter = create('input', { type: 'search', 'aria-label': 'Filter the rows', placeholder: 'Filter the rows' })
  const shown = create('div')
  const rank = (row: Row) => (order.at < 0 ? String(DECIDED.has(row[1])) : (row[order.at] ?? ''))
  const sortBy = (at: number) => {
    order = { at, factor: order.at === at ? -order.factor : 1 }
    render()
    shown.querySelectorAll('button')[at]?.focus()
  }
  const render = () => {
    const wanted = filter.value.toLowerCase()
    const visible = rows
      .filter((row) => row.join(' ').toLowerCase().includes(wanted))
      .toSorted((one, other) => order.factor * rank(one).localeCompare(rank(other), 'en', { numeric: true }))
    const heads = HEADS.map((text, at) => create('button', { type: 'button', click: () => sortBy(at) }, text))
    shown.replaceChildren(table(heads, visible))
  }
  filter.addEventListener('input', render)
  render()
  const open = rows.filter(([, decision]) => !DECIDED.has(decision)).length
  return [create('p', {}, `${rows.length} rows, of which ${open} need a person.`), filter, shown]
}
