/** The columns of a list, by their headers or numbers. Runs in browsers too. */
import { toText, type Cell } from '../table/cell.ts'
import { TableError } from '../table/table-error.ts'

/** A number from 1, or what a person has named: a header, or a number if no header is equal. */
export type ColumnName = string | number
/** The column of each field, or several that are one text. */
export type ColumnNames<Field extends string> = Partial<Record<Field, ColumnName | readonly ColumnName[] | undefined>>
/** What a person names to leave a field out, unless a column has this header. */
export const NO_COLUMN = 'none'

/** From 0. */
export type Columns<Field extends string> = Partial<Record<Field, number[]>>

/** Characters of a header in an error. */
const SHOWN_MAX = 300

/** Spaces of every kind, such as the no-break space in a header of Excel, are equal. */
export const toName = (cell: Cell | string) => toText(cell).normalize('NFC').replaceAll(/\s+/g, ' ').trim()

export const namesOf = (names: ColumnName | readonly ColumnName[] = []): readonly ColumnName[] =>
  typeof names === 'object' ? names : [names]

export function findColumns<Field extends string>(
  names: ColumnNames<Field>,
  firstRow: readonly Cell[],
  hasHeader: boolean,
): Columns<Field> {
  const headers = firstRow.map(toName)
  const fail = (message: string): never => {
    throw new TableError(message, { argument: 'column' })
  }
  const find = (name: ColumnName) => {
    const isNamed = hasHeader && typeof name === 'string'
    const named = isNamed ? headers.indexOf(toName(name)) : -1
    if (isNamed && headers.lastIndexOf(toName(name)) !== named)
      fail(`The file has several columns named ${name}. Give the number of one of them, from 1`)
    const index = named === -1 && /^[1-9][0-9]{0,4}$/.test(String(name)) ? Number(name) - 1 : named
    if (index >= 0 && index < headers.length) return index
    return fail(`The file has no column ${name}. ${listColumns(firstRow, hasHeader)}`)
  }
  return Object.fromEntries(
    Object.entries<ColumnName | readonly ColumnName[] | undefined>(names).flatMap(([field, given]) => {
      const found = namesOf(given).map(find)
      return found.length === 0 ? [] : [[field, found]]
    }),
  ) as Columns<Field>
}

/** What a person can name as a column. */
export const listColumns = (firstRow: readonly Cell[] = [], hasHeader = true): string =>
  hasHeader
    ? `Its columns are: ${firstRow.map(toName).join(' | ').slice(0, SHOWN_MAX)}`
    : `It has ${firstRow.length} columns`

export const readCells = <Field extends string>(row: readonly Cell[], columns: Columns<Field>) =>
  Object.fromEntries(
    Object.entries<readonly number[] | undefined>(columns).map(([field, found = []]) => {
      const texts = found.map((index) => toText(row[index]))
      return [field, texts.length > 1 ? texts.filter((text) => text.trim() !== '').join(', ') : (texts[0] ?? '')]
    }),
  ) as Partial<Record<Field, string>>
