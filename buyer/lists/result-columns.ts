/** The columns that a list gets: twelve, and the others if they are asked for. Runs in browsers too. */
import { filingStatus } from '../../agent/operation/filing-status.ts'
import { REFUSALS, type RefusalCode } from '../../agent/operation/refusal.ts'
import type { ResolveResponse } from '../../agent/operation/resolve.ts'
import type { Company } from '../../store/dataset/company.ts'
import { CANDIDATE_COLUMNS, candidateRows, evidenceOf, namesakeRows } from '../candidate-row.ts'
import { describeFiling } from '../filing.ts'
import { toText, type Cell } from '../table/cell.ts'
import type { RowResult } from './rows.ts'

const ALTERNATIVES = [1, 2, 3].map((number) => `alternative_${number}`)
const ADDRESS_LINES = 4

const USUAL = [
  'decision',
  'company_number',
  'legal_name',
  'status',
  'address',
  'eircode',
  'registered_date',
  'next_annual_return_date',
  'filing',
  'why',
  'receipt',
  'snapshot_id',
]
const OTHERS = [
  'company_type',
  ...Array.from({ length: ADDRESS_LINES }, (_, index) => `address_${index + 1}`),
  'status_date',
  'score',
  'evidence',
  'explanation',
  'notes',
  ...ALTERNATIVES.flatMap((name) => CANDIDATE_COLUMNS.map((column) => `${name}_${column}`)),
]

/** Sheets have no earlier dates (`Cell`), but companies are older: their dates are text. */
const FIRST_YEAR = '1900'
const DATES: ReadonlySet<string> = new Set(['registered_date', 'next_annual_return_date', 'status_date'])

const namesOf = (hasAllColumns: boolean) => (hasAllColumns ? [...USUAL, ...OTHERS] : USUAL)

/** The names of the added columns. Each is different from those of the file. */
export const addedHeader = (header: readonly Cell[], hasAllColumns: boolean): string[] =>
  uniqueNames(namesOf(hasAllColumns), header.map(toText))

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

export interface AddedOptions {
  /** The folder of the purchases, as the column shows it. */
  receiptFolder: string
  /** `YYYY-MM-DD`, the day to which the days of the column `filing` are counted. */
  today: string
  hasAllColumns: boolean
}

/**
 * The added fields of a row. Only a matched, found or chosen row names a company. The decision of a refused row is the
 * code of the refusal.
 */
export function addedFields(result: RowResult, notes: readonly string[], options: AddedOptions): Cell[] {
  const values: Values = { ...describeResult(result, options.today), decision: decisionOf(result) }
  const why = [whyOf(result), ...notes].filter(Boolean).join('; ')
  values['why'] = why === '' && result.kind === 'empty' ? 'no name and no number' : why
  values['notes'] = [...notes, ...(isDecided(result) ? [DECIDED] : [])].join('; ')
  if ('purchase' in result && result.purchase) values['receipt'] = `${options.receiptFolder}/${result.purchase}`
  return namesOf(options.hasAllColumns).map((name) => {
    const value = values[name] ?? ''
    return DATES.has(name) && value >= FIRST_YEAR ? new Date(value) : value
  })
}

/** The decision of a row: that of `resolve`, or else what a lookup, a person or a refusal has decided. */
export function decisionOf(result: RowResult): string {
  if (result.kind === 'bought') return result.answer.status
  if (result.kind === 'refused') return result.code
  if (result.kind === 'left' && result.isOpen) return 'payment_open'
  return { found: 'matched', chosen: 'chosen', none: 'none', empty: 'not_bought', left: 'not_bought' }[result.kind]
}

const DECIDED = 'decided by a person'
const isDecided = ({ kind }: RowResult): boolean => kind === 'chosen' || kind === 'none'

/** Why the row has its decision, in words. */
export function whyOf(result: RowResult): string {
  if (result.kind === 'empty') return ''
  if (result.kind === 'left') return result.isOpen ? 'a payment without an answer' : 'the run ended before this row'
  if (result.kind === 'refused') return refusalOf(result.code)
  if (result.kind === 'found') return 'equal number'
  if (result.kind === 'chosen' || result.kind === 'none') return DECIDED
  const { match } = result.answer
  if (match) return evidenceOf(match)
  const shown = [
    ...candidateRows(result.answer).slice(0, ALTERNATIVES.length),
    ...namesakeRows(result.answer).slice(0, 1),
  ].map(({ number, name, reason }) => `${number} ${name}: ${reason}`)
  return shown.join(' | ') || 'no company has such a name'
}

/** What is said of a row, in place of a request. */
const REFUSED: Partial<Record<RefusalCode, string>> = {
  company_not_found: 'no company has this number',
  source_data_conflict: 'the register has several records with this number',
  query_too_broad: 'too many companies have such a name',
}

/** A row that breaks the rules of the input has a note with the rule. */
function refusalOf(code: RefusalCode): string {
  const { message, next } = REFUSALS[code]
  const refused = REFUSED[code]
  if (refused !== undefined) return refused
  return next === 'change_request' ? '' : message.replace(/\.$/, '')
}

type Values = Record<string, string | number | null | undefined>

function describeResult(result: RowResult, today: string): Values {
  if (result.kind === 'empty' || result.kind === 'left' || result.kind === 'refused') return {}
  if (result.kind === 'found')
    return { ...describeCompany(result.answer.company, today), evidence: 'equal number', ...idOf(result.answer) }
  if (result.kind === 'none') return { ...describeCandidates(result.answer, null), ...idOf(result.answer) }
  if (result.kind === 'chosen') {
    const { company } = result.answer
    const candidates = result.resolution && describeCandidates(result.resolution, company)
    return { ...describeCompany(company, today), ...candidates, ...idOf(result.answer) }
  }
  const { match } = result.answer
  const company = match && describeCompany(match.company, today)
  return { ...company, ...describeCandidates(result.answer, match?.company ?? null), ...idOf(result.answer) }
}

const idOf = ({ snapshot_id }: { snapshot_id: string }) => ({ snapshot_id })

/** Score and evidence of the company of the row, or the score of the first candidate, and the other candidates. */
function describeCandidates(answer: ResolveResponse, company: Company | null): Values {
  const numbered = (number: string | undefined) =>
    answer.candidates.find((candidate) => candidate.company.company_number === number)
  const named = numbered(company?.company_number)
  const others = candidateRows(answer).filter(({ number }) => number !== company?.company_number)
  const alternatives = ALTERNATIVES.flatMap((name, index) =>
    CANDIDATE_COLUMNS.map((column) => [`${name}_${column}`, others[index]?.[column]]),
  )
  return {
    explanation: answer.explanation,
    score: (company ? named : answer.candidates[0])?.score,
    evidence: named && evidenceOf(named),
    ...(Object.fromEntries(alternatives) as Values),
  }
}

function describeCompany(company: Company, today: string): Values {
  const { lines, eircode } = company.registered_address
  const shown = [...lines.slice(0, ADDRESS_LINES - 1), lines.slice(ADDRESS_LINES - 1).join(', ')]
  return {
    ...company,
    registered_address: undefined,
    address: lines.join(', '),
    eircode,
    filing: describeFiling(filingStatus(company, today)),
    ...Object.fromEntries(shown.map((line, index) => [`address_${index + 1}`, line])),
  }
}
