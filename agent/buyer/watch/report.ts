/** What `client watch` reports, as lines of text and as an HTML file. */
import { escapeHtml } from '../../../store/base/escape-html.ts'
import { escapeInvisible } from '../../../store/base/hidden.ts'
import type { Company } from '../../../store/dataset/company.ts'
import { fieldSchema } from '../../operation/result.ts'
import { filingStatus } from '../../operation/filing-status.ts'
import type { Change } from './state.ts'

export interface Section {
  heading: string
  lines: string[]
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
  const events = changes.flatMap((change) => [
    `${change.date} ${describeChange(change)}`,
    ...describeFields(BRIEF_FIELDS, change.before, change.after),
  ])
  return { heading: `${number} ${name}`, lines: [...events, ...describeFields(others, before, after)] }
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
): string[] {
  if (!before || !after) return []
  return fields.flatMap((field) => {
    const [from, to] = [toText(before[field]), toText(after[field])]
    return from === to ? [] : [`${field}: ${from} -> ${to}`]
  })
}

function toText(value: Value): string {
  if (value === null || typeof value === 'string') return value ?? 'none'
  return [...value.lines, value.eircode].filter((line) => line !== null).join(', ')
}

/** The companies whose next annual return date on record is near, or has passed. */
export function describeDue(companies: readonly (Company | null)[], today: string): Section[] {
  const lines = companies.flatMap((company) => {
    const status = company && filingStatus(company, today)
    if (status?.kind !== 'dated' || status.days > DUE_DAYS) return []
    const { annual_return_date: date, days, file_by: fileBy, accounts } = status
    const when = days < 0 ? `${-days} days ago` : `in ${days} days`
    const what = `${date}, ${when}, at the latest ${fileBy}; accounts on record: ${accounts.replace('_', ' ')}`
    return [`${company?.company_number} ${company?.legal_name}: ${what}`]
  })
  return lines.length === 0 ? [] : [{ heading: `Annual return date within ${DUE_DAYS} days, or passed`, lines }]
}

/** A list of short items. */
export function describeList(heading: string, items: Iterable<string | number>): Section[] {
  const line = [...items].join(', ')
  return line === '' ? [] : [{ heading, lines: [line] }]
}

export function toLines(sections: readonly Section[]): string[] {
  return sections.flatMap(({ heading, lines }) => [heading, ...lines.map((line) => `  ${line}`)])
}

/** A file without scripts that loads nothing. */
export function toHtml(title: string, sections: readonly Section[]): string {
  const html = (text: string) => escapeHtml(escapeInvisible(text))
  const parts = sections.map(({ heading, lines }) => {
    const items = lines.map((line) => `<li>${html(line)}</li>\n`)
    return `<h2>${html(heading)}</h2>\n<ul>\n${items.join('')}</ul>\n`
  })
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${html(title)}</title>
<style>body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em } h2 { font-size: 1.1em }</style>
<h1>${html(title)}</h1>
${parts.join('') || '<p>Nothing to report.</p>\n'}</html>
`
}
