/** A candidate as one row, in every output: enough to tell two equal names apart. Runs in browsers too. */
import type { Company } from '../../store/dataset/company.ts'
import type { Candidate } from '../operation/result.ts'

export const CANDIDATE_COLUMNS = [
  'number',
  'name',
  'status',
  'address',
  'eircode',
  'registered_date',
  'score',
  'reason',
] as const

/** In one line. */
export const addressOf = ({ registered_address: { lines, eircode } }: Company): string =>
  [...lines, eircode].filter(Boolean).join(', ')

export type CandidateRow = Record<(typeof CANDIDATE_COLUMNS)[number], string>

export const companyRow = (company: Company): CandidateRow => ({
  number: company.company_number,
  name: company.legal_name,
  status: company.status ?? '',
  address: company.registered_address.lines.join(', '),
  eircode: company.registered_address.eircode ?? '',
  registered_date: company.registered_date ?? '',
  score: '',
  reason: '',
})

/** Enough to tell two equal names apart, in one text. */
export const describeCandidate = ({ number, name, status, address, registered_date: date }: CandidateRow): string =>
  [number, name, status, address, date && `registered ${date}`].filter(Boolean).join(', ')

/** The candidates of an answer, with the reason why each is not its match. */
export function candidateRows({
  match,
  candidates,
}: {
  match?: Candidate | null
  candidates: readonly Candidate[]
}): CandidateRow[] {
  const isMatch = ({ company }: Candidate) => company.company_number === match?.company.company_number
  return candidates.map((candidate) => ({
    ...companyRow(candidate.company),
    score: String(candidate.score),
    reason: isMatch(candidate) ? '' : doubtsOf(candidate, candidates).join('; '),
  }))
}

const CONFLICTS: Record<Candidate['conflicts'][number], string> = {
  eircode_mismatch: 'the registered Eircode is another one',
  name_mismatch: 'the company with this number has another name',
  number_mismatch: 'the number is another one',
}

function doubtsOf({ company, score, match_type, signals, conflicts }: Candidate, all: readonly Candidate[]): string[] {
  const doubts = conflicts.map((code) => CONFLICTS[code])
  if (signals.address_contains === false) doubts.push('the address lacks the given text')
  if (match_type === 'fuzzy_name')
    doubts.push(`the name is only ${Math.round(signals.name_similarity * 100)} % similar`)
  if (company.dissolved_date !== null) doubts.push(`dissolved on ${company.dissolved_date}`)
  const isShared = all.some((other) => other.score === score && other.company.company_number !== company.company_number)
  if (isShared) doubts.push('another company has the same score')
  return doubts
}

const EVIDENCE = {
  company_number_exact: 'equal number',
  strict_name_exact: 'equal name',
  relaxed_name_exact: 'equal name without its legal form',
  eircode_exact: 'equal Eircode',
  address_contains: 'address with the given text',
} as const

/** What speaks for a candidate. */
export function evidenceOf({ signals }: Candidate): string {
  const { strict_name_exact: isStrict } = signals
  const shown = Object.entries(EVIDENCE).filter(
    ([name]) => signals[name as keyof typeof EVIDENCE] && !(isStrict && name === 'relaxed_name_exact'),
  )
  return shown.map(([, text]) => text).join('; ')
}
