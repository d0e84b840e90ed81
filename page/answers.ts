/** Shows the answer of each operation as a person reads it. All texts of the service become text nodes. */
import {
  changeCells,
  CHANGE_HEADS,
  resultCells,
  RESULT_HEADS,
  type BatchResult,
} from '../agent/command-line/readable-answer.ts'
import { toSafeCell } from '../agent/command-line/safe-cell.ts'
import { filingStatus } from '../agent/operation/filing-status.ts'
import type { ChangesResponse } from '../agent/operation/changes.ts'
import type { HistoryResponse } from '../agent/operation/history.ts'
import type { Operation } from '../agent/operation/operation.ts'
import type { ResolveResponse } from '../agent/operation/resolve.ts'
import type { Candidate } from '../agent/operation/result.ts'
import type { SearchResponse } from '../agent/operation/search.ts'
import { toDay } from '../store/base/day.ts'
import type { Company } from '../store/dataset/company.ts'
import type { Source } from '../store/dataset/source.ts'
import { create, facts, find, paragraph, save, showDay, table, type Content } from './elements.ts'

const RECEIPTS: Record<string, string> = {
  valid: '✓ Receipt verified: the service has signed this answer, this request and this payment.',
  missing: 'This answer has no receipt yet. Send the payment again to get it.',
  unchecked: 'The receipt was not verified, because the keys of the service could not be read.',
}

/** The library of the buyer has checked that the answer has the form of the operation. */
export function showAnswer(operation: Operation, body: object, receipt: string): Content {
  const answer = body as { source: Source; snapshot_id: string }
  const { publisher, dataset, retrieved_at, synthetic } = answer.source
  const retrieved = `${publisher}, ${dataset}. Retrieved ${showDay(retrieved_at)}, ${answer.snapshot_id.slice(0, 19)}.`
  const json = create('pre', { tabindex: '0' }, JSON.stringify(answer, null, 2))
  return [
    paragraph(RECEIPTS[receipt] ?? receipt, receipt === 'valid' ? 'done' : 'fault'),
    SHOWN[operation.definition.name]?.(answer as never, operation),
    paragraph(`${retrieved}${synthetic ? ' Made-up data.' : ''}`, 'quiet'),
    create('details', {}, create('summary', {}, 'JSON'), json),
  ]
}

const SHOWN: Record<string, (answer: never, operation: Operation) => Content> = {
  lookup: ({ company }: { company: Company }) => card(company, toDay(new Date())),
  as_of: ({ company }: { company: Company }, { input }) => card(company, String(input['date'])),
  search: ({ candidates }: SearchResponse) =>
    candidates.length === 0 ? paragraph('No company has a similar name.') : candidates.map(showCandidate),
  resolve: ({ status, match, candidates }: ResolveResponse) => {
    const found = match && `This is ${match.company.legal_name}, number ${match.company.company_number}.`
    return [create('p', {}, create('strong', {}, found ?? VERDICTS[status] ?? status)), candidates.map(showCandidate)]
  },
  history: ({ versions, complete_since: since, gaps }: HistoryResponse) => [
    paragraph(`Recorded since ${showDay(since)}, oldest first. ${gaps.length} days have no file.`, 'quiet'),
    versions.map(showVersion),
  ],
  changes: ({ changes, next_cursor: next }: ChangesResponse) => [
    changes.length === 0 ? paragraph('No company has changed.') : table(CHANGE_HEADS, changes.map(changeCells)),
    next === null ? undefined : paragraph(`There are more: continue with the cursor ${next}`),
  ],
  batch: (answer: { results: BatchResult[] }, operation) => listTable(rowsOf(operation, answer)),
}

const article = (title: string, values: Record<string, string | null>): HTMLElement =>
  create('article', {}, create('h3', {}, title), create('dl', {}, facts(values)))

/** @param day the day to which the next annual return is counted */
function card(company: Company, day: string): HTMLElement {
  const { legal_name: name, registered_address: registered, ...others } = company
  const address = [...registered.lines, registered.eircode].filter(Boolean).join(', ')
  const status = filingStatus(company, day)
  const days = status.kind === 'dated' ? String(status.days) : null
  return article(name, { ...others, registered_address: address, days_to_the_next_annual_return: days })
}

const VERDICTS: Record<string, string> = {
  ambiguous: 'More than one company fits, so a person has to choose.',
  conflicting: 'The details contradict the best candidate, so a person has to decide.',
  no_match: 'No company of the register has this name.',
}

const FOR = {
  company_number_exact: 'the number is the one that was given',
  strict_name_exact: 'the name is equal',
  relaxed_name_exact: 'the name is equal without its legal form',
  eircode_exact: 'the Eircode is equal',
  address_contains: 'the address contains the fragment',
}

/** A candidate with what speaks for it and against it. */
function showCandidate({ company, score, signals, conflicts }: Candidate): HTMLElement {
  const reasons = Object.entries(FOR).flatMap(([name, text]) => (signals[name as keyof typeof FOR] ? [text] : []))
  const doubts = conflicts.map((code) => code.replaceAll('_', ' '))
  if (signals.address_contains === false) doubts.push('the address lacks the fragment')
  if (company.dissolved_date !== null) doubts.push(`dissolved on ${showDay(company.dissolved_date)}`)
  return article(company.legal_name, {
    number: company.company_number,
    score: `${score} of 1000 points`,
    name: `${Math.round(signals.name_similarity * 100)} % similar`,
    for: reasons.join('; '),
    against: doubts.join('; '),
  })
}

type Version = HistoryResponse['versions'][number]

function showVersion({ state, first_seen, last_seen, company, changed }: Version, at: number, all: Version[]) {
  const before = all[at - 1]?.company
  const show = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value ?? 'nothing'))
  const changes = changed.map((field) => [field, `${show(before?.[field])} → ${show(company?.[field])}`])
  return article(company?.legal_name ?? `${state} in the file`, {
    from: first_seen.date,
    to: last_seen === null ? 'today' : last_seen.date,
    ...Object.fromEntries(changes),
  })
}

/** The rows of a batch. The service refuses it, uncharged and without results, if no line of it is in the register. */
export function rowsOf({ input }: Operation, { results = [] }: { results?: BatchResult[] }): string[][] {
  return (input['inputs'] as object[]).map((asked, at) => {
    const cells = resultCells(results[at] ?? { status: 404, body: {} })
    return [Object.values(asked).join(', ')].concat(cells)
  })
}

const HEADS = ['asked', ...RESULT_HEADS]

/** A table that is sorted by its heads, filtered by a text, and saved as a CSV. Rows that need a person come first. */
export function listTable(rows: readonly string[][]): Content {
  const sortBy = (at: number) => {
    const textOf = (row: HTMLTableRowElement) => row.cells[at]?.textContent ?? ''
    const sorted = [...body.rows].toSorted((one, other) =>
      textOf(one).localeCompare(textOf(other), 'en', { numeric: true }),
    )
    body.append(...sorted)
  }
  const filterBy = () => {
    for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(filter.value.toLowerCase())
  }
  const open = rows.filter(([, , number]) => number === '')
  const heads = HEADS.map((text, at) => create('button', { type: 'button', click: () => sortBy(at) }, text))
  const shown = table(heads, [...open, ...rows.filter((row) => !open.includes(row))])
  const body = find('tbody', shown) as HTMLTableSectionElement
  const filter = create('input', { type: 'search', placeholder: 'Filter the rows', input: filterBy })
  const quote = (text: string) => `"${toSafeCell(text).replaceAll('"', '""')}"`
  const csv = [HEADS, ...rows].map((row) => row.map(quote).join(',')).join('\r\n')
  const download = () => save('companies.csv', 'text/csv', `\uFEFF${csv}\r\n`)
  return [
    paragraph(`${rows.length} rows, of which ${open.length} need a person.`),
    filter,
    shown,
    create('button', { type: 'button', click: download }, 'Download CSV'),
  ]
}
