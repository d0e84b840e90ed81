/** An answer as a person reads it on a terminal. The command line escapes what it prints. */
import type { ChangesResponse } from '../agent/operation/changes.ts'
import type { HistoryResponse } from '../agent/operation/history.ts'
import { matchOf, type ResolveResponse } from '../agent/operation/resolve.ts'
import type { SearchResponse } from '../agent/operation/search.ts'
import type { Company } from '../store/dataset/company.ts'
import {
  addressOf,
  CANDIDATE_COLUMNS,
  candidateRows,
  companyRow,
  describeCandidate,
  describeFormer,
  showValue,
} from './candidate-row.ts'

/** The lines of an answer that has the form of its operation. Undefined for an operation without such a form. */
export function toReadable(operation: string, answer: unknown): string[] | undefined {
  return FORMS[operation]?.(answer as never)
}

const FORMS: Record<string, ((answer: never) => string[]) | undefined> = {
  lookup: ({ company }: { company: Company }) => toCard(company),
  as_of: ({ company }: { company: Company }) => toCard(company),
  search: (answer: SearchResponse) => [answer.explanation, ...toRanking(answer)],
  resolve: (answer: ResolveResponse) => {
    const { status, match } = answer
    const verdict = match ? `${status}: ${match.company.company_number} ${match.company.legal_name}` : status
    return [verdict, answer.explanation, ...toRanking(answer), ...toTable(otherRows(answer))]
  },
  history: ({ versions, complete_since }: HistoryResponse) => [
    ...toTable(versions.map(versionCells), VERSION_HEADS),
    `The history is complete since ${complete_since}.`,
  ],
  changes: ({ changes, next_cursor, gaps }: ChangesResponse) => [
    ...(changes.length === 0 ? ['No changes.'] : toTable(changes.map(changeCells), CHANGE_HEADS)),
    ...(gaps.length === 0 ? [] : [`Days without a file: ${gaps.map(showGap).join(', ')}`]),
    ...(next_cursor === null ? [] : [`More: --cursor ${next_cursor}`]),
  ],
  batch: ({ results }: { results: BatchResult[] }) => toTable(results.map(resultCells), RESULT_HEADS),
}

export const showGap = ({ from, to }: ChangesResponse['gaps'][number]): string =>
  from === to ? from : `${from} to ${to}`

/** What a file of the register had of a number. */
const STATES: Record<HistoryResponse['versions'][number]['state'], string> = {
  present: 'in the register',
  absent: 'not in the register',
  quarantined: 'several different records',
  erased: 'deleted on request',
}

export const VERSION_HEADS = ['from', 'until', 'state', 'name', 'status', 'changed']

/** A row of a table of versions, the oldest first, with the values before and after a change. */
export function versionCells(
  { first_seen, last_seen, state, company, changed }: HistoryResponse['versions'][number],
  at: number,
  all: HistoryResponse['versions'],
): string[] {
  const changes = changed.map((field) => {
    const values = [all[at - 1]?.company, company].flatMap((of) => (of ? showValue(of[field]) : []))
    return `${field}: ${values.join(' → ')}`
  })
  const { legal_name = '', status = '' } = company ?? {}
  return [first_seen.date, last_seen?.date ?? 'today', STATES[state], legal_name, status ?? '', changes.join('; ')]
}

export const CHANGE_HEADS = ['date', 'number', 'kind', 'name', 'status', 'changed']

/** A row of a table of changes, on a terminal and in the page. */
export const changeCells = (change: ChangesResponse['changes'][number]): string[] => {
  const { date, company_number, kind, changed, before, after } = change
  const { legal_name = '', status = '' } = after ?? before ?? {}
  // The answer has the values of these two fields alone.
  const changes = changed.map((field) =>
    before && after && (field === 'legal_name' || field === 'status')
      ? `${field}: ${showValue(before[field])} → ${showValue(after[field])}`
      : field,
  )
  return [date, company_number, kind, legal_name, status ?? '', changes.join('; ')]
}

const RESULT_HEADS = ['status', 'number', 'name', 'result']

/** A row of a table of the results of a batch. Without a decided company, the names are those of the candidates. */
function resultCells({ http_status, body }: BatchResult): string[] {
  const { status, candidates = [], error } = body
  const company = body.company ?? (status && matchOf({ status, candidates })?.company)
  const names = company ? [company.legal_name] : candidates.map((each) => describeCandidate(companyRow(each.company)))
  return [String(http_status), company?.company_number ?? '', names.join(' / '), error?.code ?? status ?? '']
}

/** What the items of a batch have: a company, a resolution, or a refusal. */
interface BatchResult {
  http_status: number
  body: Partial<ResolveResponse> & { company?: Company; error?: { code: string } }
}

function toCard(company: Company): string[] {
  const rows = Object.entries({ ...company, registered_address: addressOf(company) })
  return toTable(rows.flatMap(([name, value]) => (value === null || value === '' ? [] : [[name, value]])))
}

const toRanking = (answer: Parameters<typeof candidateRows>[0]): string[] => {
  const rows = candidateRows(answer).map((row) => CANDIDATE_COLUMNS.map((column) => row[column]))
  return rows.length === 0 ? [] : toTable(rows, [...CANDIDATE_COLUMNS])
}

const RELATIONS = {
  same_name: 'has the same name',
  similar: 'has a similar name',
}

/** The records of a resolution that are no candidates: number, name, and how each is related. */
export const otherRows = ({ related, past }: Pick<ResolveResponse, 'related' | 'past'>): string[][] => [
  ...related.map(({ company_number, legal_name, relation }) => [company_number, legal_name, RELATIONS[relation]]),
  ...(past?.companies ?? []).map((each) => [each.company_number, each.legal_name, describeFormer(each)]),
]

/** Columns of equal width. */
export function toTable(rows: readonly string[][], header?: string[]): string[] {
  const all = header ? [header, ...rows] : rows
  const widths = all[0]?.map((_, index) => Math.max(...all.map((row) => row[index]?.length ?? 0))) ?? []
  const toLine = (row: string[]) => row.map((text, index) => text.padEnd(widths[index] ?? 0)).join('  ')
  return all.map((row) => toLine(row).trimEnd())
}
