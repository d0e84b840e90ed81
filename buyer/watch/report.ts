/** What `client watch` reports: lines of text, and the rows of a table. */
import type { Company } from '../../store/dataset/company.ts'
import type { Cell } from '../table/cell.ts'
import { companyRow, showValue } from '../candidate-row.ts'
import { describeFiling } from '../filing.ts'
import { showGap } from '../readable-answer.ts'
import type { ChangesResponse } from '../../agent/operation/changes.ts'
import { fieldSchema } from '../../agent/operation/result.ts'
import { filingStatus } from '../../agent/operation/filing-status.ts'
import type { Change } from './state.ts'

const COLUMNS = ['number', 'name', 'date', 'event', 'field', 'before', 'after', 'until', 'row', 'filing'] as const

/** `until`: the last day without a file. `row`: that of the list. `filing`: when the annual return is due, in words. */
type ReportRow = Partial<Record<(typeof COLUMNS)[number], string>> & { event: string }

export interface Section {
  heading: string
  lines: string[]
  rows: ReportRow[]
}

const DUE_DAYS = 30

/** The fields that a change has itself. The others are those of the records. */
const BRIEF_FIELDS = ['legal_name', 'status'] as const

/** @param changes those that were not reported before, oldest first */
export function describeCompany(
  number: string,
  changes: readonly Change[],
  { before, after }: { before: Company | null; after: Company | null },
): Section {
  const name = (after ?? before ?? changes.at(-1)?.before)?.legal_name ?? ''
  const others = fieldSchema.options.filter((field) => !BRIEF_FIELDS.some((brief) => brief === field))
  const found = changes.flatMap((change): ReportRow[] => [
    { date: change.date, event: describeChange(change) },
    ...describeFields(BRIEF_FIELDS, change.before, change.after),
  ])
  const rows = [...found, ...describeFields(others, before, after)]
  const lines = rows.map((row) =>
    row.field === undefined ? `${row.date} ${row.event}` : `${row.field}: ${row.before} -> ${row.after}`,
  )
  return { heading: `${number} ${name}`, lines, rows: rows.map((row) => Object.assign(row, { number, name })) }
}

function describeChange({ kind, changed, before, after }: Change): string {
  if (kind !== 'changed') return `${kind} ${kind === 'added' ? 'to' : 'from'} the register`
  if (after === null) return 'contradictory records in the register'
  return before === null ? 'one record in the register again' : `changed: ${changed.join(', ')}`
}

type Value = Company[keyof Company]

function describeFields<Field extends string>(
  fields: readonly Field[],
  before: Record<Field, Value> | null,
  after: Record<Field, Value> | null,
): ReportRow[] {
  if (!before || !after) return []
  return fields.flatMap((field) => {
    const [from, to] = [showValue(before[field]), showValue(after[field])]
    return from === to ? [] : [{ event: 'changed', field, before: from, after: to }]
  })
}

/** The companies whose next annual return date on record is near, or has passed. */
export function describeDue(companies: readonly (Company | null)[], today: string): Section[] {
  const rows = companies.flatMap((company) => {
    const status = company && filingStatus(company, today)
    if (!company || status?.kind !== 'dated' || status.days > DUE_DAYS) return []
    const { annual_return_date: date } = status
    const { company_number: number, legal_name: name } = company
    return [{ number, name, date, event: 'annual return due', filing: describeFiling(status) }]
  })
  const lines = rows.map(({ number, name, date, filing }) => `${number} ${name}: ${date}, ${filing}`)
  return lines.length === 0 ? [] : [{ heading: `Annual return date within ${DUE_DAYS} days, or passed`, lines, rows }]
}

const WITHOUT_RECORD = 'without a record now'

/** @param removed the last records of those numbers that had one */
export function describeWithoutRecord(numbers: readonly string[], removed: Record<string, Company>): Section[] {
  const rows = numbers.flatMap((number): ReportRow[] => {
    const company = removed[number]
    if (!company) return [{ number, event: WITHOUT_RECORD }]
    const name = company.legal_name
    const cells = Object.entries(companyRow(company)).filter(
      ([field, value]) => value !== '' && field !== 'number' && field !== 'name',
    )
    return cells.map(([field, before]) => ({ number, name, event: WITHOUT_RECORD, field, before }))
  })
  const heading = 'Without a record now: in no file, removed, or with contradictory records'
  return rows.length === 0 ? [] : [{ heading, lines: [numbers.join(', ')], rows }]
}

export const describeUnreadable = (rows: readonly number[]): Section[] =>
  describeList(
    'Rows without a company number',
    rows.map(String).map((row) => [row, { event: 'no company number', row }]),
  )

/** Several answers can have the same gap. */
export function describeGaps(gaps: ChangesResponse['gaps']): Section[] {
  const event = 'no file of the register'
  const rows = new Map(gaps.map((gap) => [showGap(gap), { event, date: gap.from, until: gap.to }]))
  return describeList('Days without a file of the register', [...rows])
}

/** One line with the texts of all items, and a row for each. */
const describeList = (heading: string, items: readonly [text: string, row: ReportRow][]): Section[] =>
  items.length === 0
    ? []
    : [{ heading, lines: [items.map(([text]) => text).join(', ')], rows: items.map(([, row]) => row) }]

export function toLines(sections: readonly Section[]): string[] {
  return sections.flatMap(({ heading, lines }) => [heading, ...lines.map((line) => `  ${line}`)])
}

export const toRows = (sections: readonly Section[]): Cell[][] => [
  [...COLUMNS],
  ...sections.flatMap(({ rows }) => rows.map((row) => COLUMNS.map((column) => row[column] ?? ''))),
]
