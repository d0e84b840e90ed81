/** What `client watch` reports: lines of text, and the rows of a table. */
import type { Company } from '../../store/dataset/company.ts'
import type { Cell } from '../table/cell.ts'
import { companyRow, showValue } from '../candidate-row.ts'
import { describeFiling } from '../filing.ts'
import { fieldSchema } from '../../agent/operation/result.ts'
import { filingStatus } from '../../agent/operation/filing-status.ts'
import type { Change } from './state.ts'

interface ReportRow {
  number?: string
  name?: string
  date?: string
  event: string
  field?: string
  before?: string
  after?: string
}

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
    return [{ number: company.company_number, name: company.legal_name, date, event: describeFiling(status) }]
  })
  const lines = rows.map(({ number, name, date, event }) => `${number} ${name}: ${date}, ${event}`)
  return lines.length === 0 ? [] : [{ heading: `Annual return date within ${DUE_DAYS} days, or passed`, lines, rows }]
}

/** The last records of companies that have none now. */
export const describeRemoved = (companies: readonly Company[]): Section => ({
  heading: 'Without a record now',
  lines: [],
  rows: companies.flatMap((company) =>
    Object.entries(companyRow(company)).flatMap(([field, before]) =>
      before === '' || field === 'number' || field === 'name'
        ? []
        : [{ number: company.company_number, name: company.legal_name, event: 'without a record now', field, before }],
    ),
  ),
})

/** A list of short items. */
export function describeList(heading: string, items: Iterable<string | number>): Section[] {
  const texts = Array.from(items, String)
  return texts.length === 0
    ? []
    : [{ heading, lines: [texts.join(', ')], rows: texts.map((before) => ({ event: heading, before })) }]
}

export function toLines(sections: readonly Section[]): string[] {
  return sections.flatMap(({ heading, lines }) => [heading, ...lines.map((line) => `  ${line}`)])
}

const COLUMNS = ['number', 'name', 'date', 'event', 'field', 'before', 'after'] as const

export const toRows = (sections: readonly Section[]): Cell[][] => [
  [...COLUMNS],
  ...sections.flatMap(({ rows }) => rows.map((row) => COLUMNS.map((column) => row[column] ?? ''))),
]
