/** The columns that a list has and gets. Runs in browsers too. */
import type { Company } from '../../store/dataset/company.ts'
import { CANDIDATE_COLUMNS, candidateRows, evidenceOf } from '../candidate-row.ts'
import { toText, type Cell } from '../table/cell.ts'
import { TableError } from '../table/table-error.ts'
import type { RowResult } from './rows.ts'

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
    return fail(`The file has no column ${name}. ${describeColumns(headers, hasHeader)}`)
  }
  return Object.fromEntries(
    Object.entries<ColumnName | readonly ColumnName[] | undefined>(names).flatMap(([field, given]) => {
      const found = namesOf(given).map(find)
      return found.length === 0 ? [] : [[field, found]]
    }),
  ) as Columns<Field>
}

const describeColumns = (headers: readonly string[], hasHeader: boolean) =>
  hasHeader ? `Its columns are: ${headers.join(' | ').slice(0, SHOWN_MAX)}` : `It has ${headers.length} columns`

export const readCells = <Field extends string>(row: readonly Cell[], columns: Columns<Field>) =>
  Object.fromEntries(
    Object.entries<readonly number[] | undefined>(columns).map(([field, found = []]) => {
      const texts = found.map((index) => toText(row[index]))
      return [field, texts.length > 1 ? texts.filter((text) => text.trim() !== '').join(', ') : (texts[0] ?? '')]
    }),
  ) as Partial<Record<Field, string>>

const ALTERNATIVES = [1, 2, 3].map((number) => `alternative_${number}`)
const ADDRESS_LINES = 4

const ADDED = [
  'company_number',
  'legal_name',
  'status',
  'company_type',
  ...Array.from({ length: ADDRESS_LINES }, (_, index) => `address_${index + 1}`),
  'eircode',
  'registered_date',
  'status_date',
  'next_annual_return_date',
  'decision',
  'score',
  'evidence',
  'explanation',
  'notes',
  ...ALTERNATIVES.flatMap((name) => CANDIDATE_COLUMNS.map((column) => `${name}_${column}`)),
  'snapshot_id',
  'receipt',
]

/** The names of the added columns. Each is different from those of the file. */
export const addedHeader = (header: readonly Cell[]): string[] => uniqueNames(ADDED, header.map(toText))

/** A name that is taken already gets a number. */
export function uniqueNames(names: readonly string[], others: readonly string[] = []): string[] {
  const taken = new Set(others)
  return names.map((name) => {
    let unique = name
    for (let number = 2; taken.has(unique); number += 1) unique = `${name}_${number}`
    taken.add(unique)
    return unique
  })
}

/**
 * The added fields of a row. Only a matched, found or chosen row names a company. The decision of a refused row is the
 * code of the refusal.
 * @param receiptFolder the folder of the purchases, as the column shows it
 */
export function addedFields(result: RowResult, notes: readonly string[], receiptFolder: string): string[] {
  const values: Values = { ...describeResult(result), decision: decisionOf(result), notes: notes.join('; ') }
  if (result.kind !== 'empty' && result.purchase) values['receipt'] = `${receiptFolder}/${result.purchase}`
  return ADDED.map((name) => String(values[name] ?? ''))
}

/** The decision of a row: that of `resolve`, or else what a lookup, a person or a refusal has decided. */
export function decisionOf(result: RowResult): string {
  if (result.kind === 'bought') return result.answer.status
  if (result.kind === 'refused') return result.code
  return { found: 'matched', chosen: 'chosen', empty: '' }[result.kind]
}

type Values = Record<string, string | number | null | undefined>

function describeResult(result: RowResult): Values {
  if (result.kind === 'empty' || result.kind === 'refused') return {}
  const { snapshot_id } = result.answer
  const evidence = result.kind === 'found' ? 'equal number' : ''
  if (result.kind !== 'bought') return { ...describeCompany(result.answer.company), evidence, snapshot_id }
  const { match, candidates, explanation } = result.answer
  const others = candidateRows(result.answer).filter(({ number }) => number !== match?.company.company_number)
  const alternatives = ALTERNATIVES.flatMap((name, index) =>
    CANDIDATE_COLUMNS.map((column) => [`${name}_${column}`, others[index]?.[column]]),
  )
  const company = match && { ...describeCompany(match.company), evidence: evidenceOf(match) }
  return {
    ...company,
    score: candidates[0]?.score,
    explanation,
    snapshot_id,
    ...(Object.fromEntries(alternatives) as Values),
  }
}

function describeCompany({ registered_address: { lines, eircode }, ...company }: Company): Values {
  const shown = [...lines.slice(0, ADDRESS_LINES - 1), lines.slice(ADDRESS_LINES - 1).join(', ')]
  return { ...company, eircode, ...Object.fromEntries(shown.map((line, index) => [`address_${index + 1}`, line])) }
}
