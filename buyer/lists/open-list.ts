/** Opens the list of `reconcile`: which columns it is read by, and what another choice than before buys again. */
import type { CommandContext } from '../../agent/command-line/context.ts'
import type { Operation } from '../../agent/operation/operation.ts'
import { counted, toHead, toSentence } from '../../base/grammar.ts'
import { TableError } from '../table/table-error.ts'
import type { JudgedColumns } from './check-numbers.ts'
import { listColumns, namesOf, type ColumnNames } from './columns.ts'
import type { KeptColumns } from './kept-columns.ts'
import type { ListInput } from './list-input.ts'
import { describeSheet, LEFT_OUT, readList, type List, type ReadListOptions } from './list.ts'
import type { Plan } from './plan.ts'
import {
  correctColumns,
  describeColumn,
  describeColumns,
  findUnreadNumbers,
  nameColumns,
  NO_COLUMNS,
  proposeColumns,
} from './propose-columns.ts'
import { rowKey } from './purchased-rows.ts'
import type { RowCells } from './rows.ts'

/** Rows at the end of a list whose totals are shown. */
const TOTALS_SHOWN = 5

export interface OpenedList {
  list: List
  kept: KeptColumns
  /** Whether an earlier run has kept the same. */
  isKept: boolean
  /** The list by other columns, which an earlier run has kept. */
  former: List | undefined
  /** The columns of numbers and names, if numbers are read. */
  judged: JudgedColumns | undefined
}

/** Reads the list by the columns that are proposed, kept or named, and says which they are. */
export function openList(
  { print }: Pick<CommandContext, 'print'>,
  { file, table, headerRow, columns: given }: ListInput & Pick<ReadListOptions, 'columns'>,
  before: KeptColumns | undefined,
): OpenedList {
  const { rows } = table
  if (rows.length <= headerRow) throw new Error(`${file} has no rows`)
  const header = headerRow === 0 ? undefined : rows[headerRow - 1]
  const place = { rows, headerRow }
  const named = new Set(Object.keys(given).filter((field) => given[field as keyof RowCells] !== undefined))
  const others = Object.entries(before?.columns ?? {}).filter(([field]) => !named.has(field))
  const found = before ? keptColumns(Object.fromEntries(others), place) : proposeColumns(rows, headerRow)
  const columns = correctColumns(found, given, place)
  if (columns.name === undefined && columns.company_number === undefined)
    throw new TableError(
      `${NO_COLUMNS}. Name one with --column or --number-column. ${listColumns(header ?? rows[0], header !== undefined)}`,
      { argument: 'column' },
    )
  print(toSentence(`Columns: ${describeColumns(columns, header)}`))
  const unread = before || named.has('company_number') ? undefined : findUnreadNumbers(columns, place)
  if (unread !== undefined)
    print(
      `${toHead(describeColumn(unread, header))} is not read. If it has company numbers, add --number-column ${unread}.`,
    )
  const list = readList(table, { columns, headerRow })
  describeSheet(table, list.hidden, 'Add --hidden-rows to buy them too.').forEach(print)
  for (const { kind, at, notes } of list.rows.slice(-TOTALS_SHOWN))
    if (kind === 'empty' && notes.some((note) => note.startsWith(LEFT_OUT)))
      print(toSentence(`Row ${at} is ${notes.join('; ')}`))
  warnOfNumbers(print, columns, list)
  const isNumberNamed = named.has('company_number') || before?.is_number_named === true
  const kept = { columns: nameColumns(columns, header), is_number_named: isNumberNamed }
  const isSame = JSON.stringify(kept.columns) === JSON.stringify(before?.columns)
  const [number] = namesOf(columns.company_number)
  const [name] = namesOf(columns.name)
  return {
    list,
    kept,
    isKept: isSame && before?.is_number_named === isNumberNamed,
    former: before && !isSame ? readFormer(table, before, headerRow) : undefined,
    judged:
      number === undefined ? undefined : { number: describeColumn(number, header), name: describeColumn(name, header) },
  }
}

/** @throws TableError if the file no longer has a column that earlier runs have read */
function keptColumns(
  columns: Partial<KeptColumns['columns']>,
  place: Pick<ListInput['table'], 'rows'> & { headerRow: number },
) {
  try {
    return correctColumns({}, columns, place)
  } catch (cause) {
    if (!(cause instanceof TableError)) throw cause
    throw new TableError(
      `${toSentence(cause.message)} Earlier runs of this list have read it. Name another column, or none`,
      {
        argument: 'column',
        cause,
      },
    )
  }
}

/** Undefined if the file no longer has these columns. */
function readFormer(table: ListInput['table'], { columns }: KeptColumns, headerRow: number): List | undefined {
  try {
    return readList(table, { columns, headerRow })
  } catch (cause) {
    if (cause instanceof TableError) return undefined
    throw cause
  }
}

/** How many paid rows are bought again by other columns. Undefined for the same columns. */
export function describeChange({ former }: OpenedList, plan: Plan, baseUrl: string): string | undefined {
  if (!former) return undefined
  const isPaid = (operation: Operation) => plan.purchased.rows.get(rowKey(baseUrl, operation))?.state.kind === 'paid'
  const again = former.rows.filter(({ operation }, at) => {
    const row = plan.rows[at]
    return operation && isPaid(operation) && row?.operation && !row.known && !isPaid(row.operation)
  })
  return `Other columns than in earlier runs: ${counted(again.length, 'paid row is', 'paid rows are')} bought again.`
}

/** A column of other numbers, such as those of VAT, would silently be no evidence. */
function warnOfNumbers(print: CommandContext['print'], columns: ColumnNames<keyof RowCells>, list: List): void {
  const [column] = namesOf(columns.company_number)
  if (column === undefined) return
  const named = list.rows.filter(({ kind }) => kind !== 'empty')
  const without = named.filter(
    ({ operation }) => operation && !Object.hasOwn(operation.input as object, 'company_number'),
  )
  if (without.length * 2 <= named.length) return
  const rows = `${without.length} of ${counted(named.length, 'row has', 'rows have')}`
  print(toSentence(`${rows} no usable number in ${describeColumn(column, list.header)}`))
  print('They are resolved by their names. The column "why" says what was not read.')
}
