/** Proposes what the columns of a list are, by their headings and their values together. Runs in browsers too. */
import { readTypedNumber } from '../../agent/operation/typed-number.ts'
import { parseName } from '../../store/index/normalise-name.ts'
import { isBlank, toText, type Cell } from '../table/cell.ts'
import { namesOf, NO_COLUMN, toName, type ColumnName, type ColumnNames } from './columns.ts'
import { EIRCODE } from './header.ts'
import { readHeading, type Heading } from './headings.ts'
import { locateColumns } from './list.ts'
import { isAbsent, type RowCells } from './rows.ts'
import { countWithoutTotals } from './typed-lines.ts'

/** The rows that are read to judge the columns. */
const SAMPLE_ROWS = 500
/** The values of a column in which legal forms are searched. */
const NAMES_MAX = 200

interface Column {
  /** From 0. */
  at: number
  heading: Heading | undefined
  /** The cells that have a value. */
  values: string[]
}

/**
 * The columns that a list is read by. A field without a certain column is left out: without a name and a number a
 * person must name one of them.
 * @param headerRow from 1, or 0 without a header
 */
export function proposeColumns(rows: readonly Cell[][], headerRow: number): ColumnNames<keyof RowCells> {
  const columns = readColumns(rows, headerRow)
  const name = findNames(columns)
  const number = findNumbers(columns) ?? (name ? undefined : findOnlyNumbers(columns))
  const found = { name, company_number: number, eircode: findEircodes(columns), address: findAddress(columns) }
  const named = Object.entries(found).map(([field, column]) => {
    return [field, oneOrMore([column ?? []].flat().map(({ at }) => at + 1))]
  })
  return Object.fromEntries(named.filter(([, column]) => column !== undefined)) as ColumnNames<keyof RowCells>
}

function readColumns(rows: readonly Cell[][], headerRow: number): Column[] {
  const end = Math.max(headerRow, countWithoutTotals(rows))
  const sample = rows.slice(headerRow, Math.min(end, headerRow + SAMPLE_ROWS))
  const header = headerRow === 0 ? [] : (rows[headerRow - 1] ?? [])
  const width = sample.reduce((most, { length }) => Math.max(most, length), header.length)
  return Array.from({ length: width }, (_, at): Column => {
    const values = sample.map((row) => toText(row[at]).trim()).filter((text) => text !== '' && !isAbsent(text))
    return { at, heading: readHeading(toText(header[at])), values }
  }).filter(({ at, values }) => values.length > 0 || !isBlank(header[at]))
}

const oneOrMore = <Name>(names: readonly Name[]) => (names.length > 1 ? names : names[0])

/** Whether more than half of the values fit. A column without values is what its heading says. */
const mostly = (values: readonly string[], fits: (text: string) => boolean) =>
  values.length === 0 || values.filter(fits).length * 2 > values.length

/** A company number has one to six digits after its leading zeros. */
const NUMBER = /^0*\d{1,6}$/
const isNumber = (text: string) => NUMBER.test(readTypedNumber(text)?.digits ?? '')
const isLabelled = (text: string) => isNumber(text) && readTypedNumber(text)?.isLabelled === true

/** The column with the surest of these headings. */
function highest(columns: readonly Column[], rankOf: (column: Column) => number): Column | undefined {
  const ranked = columns.map((column) => ({ column, rank: rankOf(column) })).filter(({ rank }) => rank > 0)
  return ranked.toSorted((one, other) => other.rank - one.rank)[0]?.column
}

/** By the heading, or by values such as `CRO 335801`. A number alone can be any. */
const findNumbers = (columns: readonly Column[]): Column | undefined =>
  highest(columns, ({ heading, values }) => {
    if (heading?.kind === 'company_number') return mostly(values, isNumber) ? heading.rank : 0
    return values.length > 0 && mostly(values, isLabelled) ? 0.5 : 0
  })

/** The only column, of numbers alone, unless its heading names another kind of number. */
function findOnlyNumbers([only, ...others]: readonly Column[]): Column | undefined {
  if (!only || others.length > 0 || only.heading?.kind === 'other') return undefined
  return only.values.length > 0 && only.values.every(isNumber) ? only : undefined
}

/** Most companies have five or six digits. Fewer are as often a year or a count. */
const USUAL_NUMBER = /^0*[1-9]\d{4,5}$/
const isUsualNumber = (text: string) => USUAL_NUMBER.test(readTypedNumber(text)?.digits ?? '')

/**
 * The column, from 1, whose values can be company numbers, although its heading does not say so. They can be other
 * numbers too, and wrong ones contradict names, so a person decides. Undefined if a column of numbers is read.
 */
export function findUnreadNumbers(
  columns: ColumnNames<Field>,
  { rows, headerRow }: { rows: readonly Cell[][]; headerRow: number },
): number | undefined {
  if (columns.company_number !== undefined) return undefined
  const read = new Set(FIELDS.flatMap((field) => namesOf(columns[field]).map(Number)))
  const unread = readColumns(rows, headerRow).filter(({ at, values }) => values.length > 0 && !read.has(at + 1))
  const found = highest(unread, ({ heading, values }) => {
    if (heading && heading.kind !== 'plain_number') return 0
    return mostly(values, isUsualNumber) ? (heading ? 2 : 1) : 0
  })
  return found && found.at + 1
}

/** Words, and neither a code, a number, nor an e-mail address. */
const isText = (text: string) =>
  /\p{L}{2}/u.test(text) && !/^\S*\d\S*$|@/.test(text) && !EIRCODE.test(text) && !readTypedNumber(text)
const hasForm = (text: string) => parseName(text).suffix !== ''

/** More than half of the values have a legal form. */
const FORMS_RANK = 1.5
/** Below that, a share of them. */
const FORMS_SHARE = 0.2
/** All rows have the same value, such as the company that the file belongs to. */
const SAME_RANK = 4

/** The column of company names: by its heading, by its legal forms, or as the only column. Undefined in doubt. */
function findNames(columns: readonly Column[]): Column | undefined {
  const texts = columns.filter(({ heading, values }) =>
    heading?.kind === 'name' && values.some(isText)
      ? mostly(values, (text) => isText(text) || isNumber(text))
      : mostly(values, isText),
  )
  const found = highest(texts, ({ heading, values }) => {
    if (heading && heading.kind !== 'name') return 0
    const forms = values.slice(0, NAMES_MAX).filter(hasForm).length / Math.min(NAMES_MAX, values.length || 1)
    const bonus = forms > 0.5 ? FORMS_RANK : forms
    if (!heading) return forms >= FORMS_SHARE ? 1 + bonus : 0
    const isSame = texts.length > 1 && values.length > 1 && new Set(values).size === 1
    return Math.max(0.1, heading.rank + bonus - (isSame ? SAME_RANK : 0))
  })
  if (found) return found
  // Without any heading, the only column of texts.
  const [only, ...others] = columns.length === 1 || columns.some(({ heading }) => heading) ? columns : texts
  const isOther = /^(?:other|plain_number)$/.test(only?.heading?.kind ?? '') || only?.values.every(isNumber)
  return others.length > 0 || isOther ? undefined : only
}

/** With the letters that an Eircode has. Codes such as `A001234` have other forms. */
const WRITTEN_EIRCODE = /^[acdefhknprtvwxy]\d[\dw][\s-]?(?=\d*[a-z])[\da-z]{4}$/i

/** By the values, first with the heading. Postcodes of other countries are not read. */
const findEircodes = (columns: readonly Column[]): Column | undefined =>
  highest(columns, ({ heading, values }) => {
    if (heading?.kind === 'eircode') return mostly(values, (text) => EIRCODE.test(text)) ? 2 : 0
    return values.length > 0 && mostly(values, (text) => WRITTEN_EIRCODE.test(text)) ? 1 : 0
  })

/** The lines of one address, the registered one first, with its places, in the order of the file. */
function findAddress(columns: readonly Column[]): Column[] | undefined {
  const linesOf = (of?: string) =>
    columns.filter(({ heading }) => heading?.kind === 'address_line' && (of === undefined || heading.of === of))
  const lines = [linesOf('registered'), linesOf('legal'), linesOf()].find(({ length }) => length > 0)
  const [first] = lines ?? []
  if (first?.heading?.kind !== 'address_line') return undefined
  const { of } = first.heading
  return columns.filter(
    ({ heading }) =>
      (heading?.kind === 'address_line' && heading.of === of) ||
      (heading?.kind === 'address_place' && (heading.of === of || heading.of === '')),
  )
}

const FIELDS = ['name', 'company_number', 'eircode', 'address'] as const
type Field = (typeof FIELDS)[number]

export const NO_COLUMNS = 'No column of names or of company numbers is certain'

/**
 * Columns that a person has named replace the proposed ones. One column is never used twice.
 * @param given the header or the number of each column, or `none`
 * @throws TableError if a given column does not exist
 */
export function correctColumns(
  proposed: ColumnNames<Field>,
  given: ColumnNames<Field>,
  { rows, headerRow }: { rows: readonly Cell[][]; headerRow: number },
): ColumnNames<Field> {
  const header = headerRow === 0 ? [] : (rows[headerRow - 1] ?? [])
  const isNone = (field: Field) =>
    given[field] !== undefined &&
    (namesOf(given[field]).length === 0 ||
      (namesOf(given[field]).join() === NO_COLUMN && !header.some((cell) => toName(cell) === toName(NO_COLUMN))))
  const wanted = Object.fromEntries(FIELDS.flatMap((field) => (isNone(field) ? [] : [[field, given[field]]])))
  const found = locateColumns<Field>(rows, wanted, headerRow)
  const taken = new Set(Object.values(found).flat())
  const chosen = FIELDS.map((field) => {
    const own = found[field]?.map((at) => at + 1)
    const free = namesOf(proposed[field]).filter((number) => !taken.has(Number(number) - 1))
    return [field, isNone(field) ? undefined : oneOrMore(own ?? free)]
  })
  return Object.fromEntries(chosen.filter(([, names]) => names !== undefined)) as ColumnNames<Field>
}

/** The columns by their headers, or by their numbers if several have the same header, for a list that changes. */
export function nameColumns(columns: ColumnNames<Field>, header: readonly Cell[] = []): Record<Field, ColumnName[]> {
  const titles = header.map(toName)
  const nameOf = (column: ColumnName) => {
    const title = titles[Number(column) - 1] ?? ''
    return title !== '' && titles.filter((each) => each === title).length === 1 ? title : Number(column)
  }
  const named = FIELDS.map((field) => [field, namesOf(columns[field]).map(nameOf)])
  return Object.fromEntries(named) as Record<Field, ColumnName[]>
}

/** Characters of a header that is shown. */
const TITLE_MAX = 40

const headingOf = (column: ColumnName | undefined, header: readonly Cell[] = []): string =>
  toName(header[Number(column) - 1] ?? '').slice(0, TITLE_MAX)

/** As a sentence has it: `the column Company ID`, or `column 2` without a heading. */
export function describeColumn(column: ColumnName | undefined, header?: readonly Cell[]): string {
  const heading = headingOf(column, header)
  return heading === '' ? `column ${column}` : `the column ${heading}`
}

/** `name = Supplier, address = Addr 1 + Town`. */
export function describeColumns(columns: ColumnNames<Field>, header?: readonly Cell[]): string {
  const shown = FIELDS.flatMap((field) => {
    const titles = namesOf(columns[field]).map((column) => headingOf(column, header) || `column ${column}`)
    return titles.length > 0 ? [`${field} = ${titles.join(' + ')}`] : []
  })
  return shown.join(', ')
}
