/** The rows of a list and what each asks for. Runs in browsers too. */
import { counted, toSentence } from '../../base/grammar.ts'
import { isBlank, toText, type Cell } from '../table/cell.ts'
import type { Table } from '../table/read-table.ts'
import { TableError } from '../table/table-error.ts'
import { formOf } from '../table/table-name.ts'
import { findColumns, namesOf, readCells, toName, type ColumnName, type ColumnNames, type Columns } from './columns.ts'
import { addedFields, addedHeader, uniqueNames, type AddedOptions } from './result-columns.ts'
import { ROWS_ABOVE_MAX } from './header.ts'
import { countWithoutTotals, lineMarks } from './typed-lines.ts'
import { parseRow, type ParsedRow, type RowCells, type RowResult } from './rows.ts'

export interface ListedRow extends ParsedRow {
  /** In the file, from 1. */
  at: number
  row: readonly Cell[]
  cells: RowCells
}

export interface List {
  /** What stands above the header, such as a title. */
  above: readonly Cell[][]
  header: readonly Cell[] | undefined
  rows: ListedRow[]
  /** The cells of each row. */
  width: number
  /** The number of rows that are hidden in the sheet. They ask for nothing. */
  hidden: number
  format: Table['format']
}

/** Lines with too many fields that an error names. */
const LINES_SHOWN = 5
/** Begins the note of a total. */
export const LEFT_OUT = 'left out as a total'
/** Characters of a total. */
const TOTAL_SHOWN_MAX = 60
/** Characters of the names of sheets. */
const SHEETS_SHOWN_MAX = 300

export interface ReadListOptions {
  columns: ColumnNames<keyof RowCells>
  /** From 1, or 0 without a header. */
  headerRow: number
}

/** Undefined for a blank row. */
function describeTotal(row: readonly Cell[]): string | undefined {
  const texts = row.map(toText).filter((text) => text.trim() !== '')
  return texts.length > 0 ? `${LEFT_OUT}: ${texts.join(' ').slice(0, TOTAL_SHOWN_MAX)}` : undefined
}

/** @throws TableError if a column is missing or a row has more cells than the header */
export function readList(table: Table, { columns, headerRow }: ReadListOptions): List {
  const found = locateColumns(table.rows, columns, headerRow)
  const header = headerRow === 0 ? undefined : table.rows[headerRow - 1]
  const fitted = fitRows(table, headerRow)
  const end = countWithoutTotals(fitted)
  const read = fitted.map((row) => readCells(row, found))
  const marked = (['name', 'company_number'] as const).map(
    (field) => [field, lineMarks(read.map((own) => own[field] ?? ''))] as const,
  )
  const rows = read.map((own, index) => {
    const row = fitted[index] ?? []
    const cells = { ...own }
    for (const [field, withoutMark] of marked) if (own[field] !== undefined) cells[field] = withoutMark(own[field])
    const reason = table.hidden.has(headerRow + index) ? 'hidden in the sheet' : index >= end && describeTotal(row)
    const parsed: ParsedRow = reason ? { kind: 'empty', notes: [reason] } : parseRow(cells)
    return Object.assign(parsed, { at: headerRow + index + 1, row, cells })
  })
  const hidden = rows.filter(({ row, at }) => table.hidden.has(at - 1) && !row.every(isBlank)).length
  const width = rows[0]?.row.length ?? 0
  const above = table.rows.slice(0, Math.max(0, headerRow - 1))
  return { above, header: header && toWidth(header, width), rows, width, hidden, format: table.format }
}

/** Finds the columns of a list. An error proposes the row that has their names. */
export function locateColumns<Field extends string>(
  rows: readonly Cell[][],
  columns: ColumnNames<Field>,
  headerRow: number,
): Columns<Field> {
  try {
    return findColumns(columns, rows[Math.max(0, headerRow - 1)] ?? [], headerRow > 0)
  } catch (cause) {
    const names = Object.values<ColumnName | readonly ColumnName[] | undefined>(columns)
      .flatMap((each) => namesOf(each))
      .map((name) => toName(String(name)))
    const other = rows
      .slice(0, ROWS_ABOVE_MAX)
      .findIndex((row) => names.every((name) => row.some((cell) => toName(cell) === name)))
    if (headerRow === 0 || other < 0 || !(cause instanceof TableError)) throw cause
    const message = `${toSentence(cause.message)} Row ${other + 1} has them: add --header-row ${other + 1}`
    throw new TableError(message, { argument: cause.argument, cause })
  }
}

/**
 * The rows below the header, all as wide as it is. Those of a sheet are as wide as the widest one.
 * @throws TableError that names the lines of a CSV with more cells than the header
 */
export function fitRows({ rows, lines }: Table, headerRow: number): Cell[][] {
  const below = rows.slice(headerRow)
  const header = rows[Math.max(0, headerRow - 1)] ?? []
  if (!lines) {
    const width = below.reduce((most, { length }) => Math.max(most, length), header.length)
    return below.map((row) => toWidth(row, width))
  }
  const width = header.length
  const faults = below.flatMap((row, index) =>
    row.slice(width).every(isBlank) ? [] : [lines[headerRow + index] ?? headerRow + index + 1],
  )
  if (faults.length === 0) return below.map((row) => toWidth(row, width))
  const shown = `${faults.slice(0, LINES_SHOWN).join(', ')}${faults.length > LINES_SHOWN ? ' ...' : ''}`
  throw new TableError(`The file has more than the ${width} fields of its header in line ${shown}. Add --separator`)
}

const toWidth = (row: readonly Cell[], width: number): Cell[] =>
  Array.from({ length: width }, (_, index) => row[index] ?? '')

/** The rows above the results. JSON, whose members need names, has no title. */
export function resultHead({ above, header, width }: List, name: string, hasAllColumns = false): Cell[][] {
  if (formOf(name) === 'json') {
    const own = uniqueNames(header?.map(toText) ?? Array.from({ length: width }, (_, at) => `column_${at + 1}`))
    return [[...own, ...addedHeader(own, hasAllColumns)]]
  }
  return header ? [...above, [...header, ...addedHeader(header, hasAllColumns)]] : []
}

/** The cells of the file, then the added ones. */
export const resultCells = ({ row, notes }: ListedRow, result: RowResult, options: AddedOptions): Cell[] => [
  ...row,
  ...addedFields(result, notes, options),
]

/** What is read of the sheet, in sentences. */
export function describeSheet({ sheet, sheets }: Table, hidden: number, all: string): string[] {
  return [
    ...(sheets.length > 1 ? [`The sheet ${sheet} is read, of ${sheets.join(', ').slice(0, SHEETS_SHOWN_MAX)}.`] : []),
    ...(hidden > 0 ? [`${counted(hidden, 'row is', 'rows are')} hidden in the sheet and not bought. ${all}`] : []),
  ]
}
