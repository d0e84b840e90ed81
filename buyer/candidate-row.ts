/** A candidate as one row, in every output: enough to tell two equal names apart. Runs in browsers too. */
import type { Company } from '../store/dataset/company.ts'
import { normaliseWords, parseName } from '../store/index/normalise-name.ts'
import { withoutLeadingForm, type ParsedName } from '../store/index/suffixes.ts'
import type { ResolveResponse } from '../agent/operation/resolve.ts'
import { MATCH_MARGIN_MIN, MATCH_SCORE_MIN, type Candidate } from '../agent/operation/result.ts'

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

/** A value of a record in one line. */
export function showValue(value: Company[keyof Company]): string {
  if (value === null || typeof value === 'string') return value ?? 'none'
  return [...value.lines, value.eircode].filter(Boolean).join(', ')
}

export const addressOf = ({ registered_address: address }: Company): string => showValue(address)

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

/** What decides about the candidates of an answer. A search has no match. */
interface Ranking {
  candidates: readonly Candidate[]
  match?: Candidate | null
  query: { name?: string | undefined; q?: string | undefined }
}

/** The candidates of an answer, with the reason why each is not its match. */
export function candidateRows(answer: Ranking): CandidateRow[] {
  return answer.candidates.map((candidate) => ({
    ...companyRow(candidate.company),
    score: String(candidate.score),
    reason:
      candidate.company.company_number === answer.match?.company.company_number ? '' : reasonOf(candidate, answer),
  }))
}

type Resolution = Pick<ResolveResponse, 'status' | 'related' | 'past'>

/**
 * Companies beside the candidates: if the number or the Eircode of a row is that of another company, those that have
 * its name, and if no company has its name, those of earlier files that had it.
 */
export function namesakeRows({ status, related, past }: Resolution): CandidateRow[] {
  const same = related.filter(({ relation }) => status === 'conflicting' && relation === 'same_name')
  const former = status === 'no_match' ? (past?.companies ?? []) : []
  const toRow = (each: { company_number: string; legal_name: string; status?: string | null }, reason: string) => ({
    number: each.company_number,
    name: each.legal_name,
    status: each.status ?? '',
    address: '',
    eircode: '',
    registered_date: '',
    score: '',
    reason,
  })
  return [
    ...same.map((each) => toRow(each, 'has the name of the row')),
    ...former.map((each) => toRow(each, describeFormer(each))),
  ]
}

type Former = NonNullable<ResolveResponse['past']>['companies'][number]

/** Whether a company had the name or was in the register, and until which day. */
export const describeFormer = ({ relation, until }: Former): string =>
  `${relation === 'former_name' ? 'had this name' : 'in the register'} until ${until}`

/** One sentence: the evidence that fits, and what leaves a doubt, or that no evidence confirms it. */
function reasonOf(candidate: Candidate, answer: Ranking): string {
  const { eircode_exact: isEircode, address_contains: isAddress } = candidate.signals
  const fitting = [isEircode && 'Eircode', isAddress && 'address'].filter(Boolean)
  const fits = fitting.length > 1 ? 'Eircode and address fit' : fitting[0] && `the ${fitting[0]} fits`
  const reason = [fits, doubtsOf(candidate, answer).join('; ')].filter(Boolean).join(', and ')
  return reason === '' && answer.match === null ? 'no Eircode confirms it' : reason
}

const CONFLICTS: Record<Candidate['conflicts'][number], string> = {
  eircode_mismatch: 'the registered Eircode is another one',
  name_mismatch: 'the company with this number has another name',
  number_mismatch: 'the number is another one',
}

function doubtsOf(candidate: Candidate, { candidates, query: { name, q = '' } }: Ranking): string[] {
  const { company, score, match_type, signals, conflicts } = candidate
  const doubts = conflicts.map((code) => CONFLICTS[code])
  if (signals.address_contains === false) doubts.push('the address on record does not contain the given one')
  if (match_type === 'fuzzy_name') doubts.push(nameDoubt(candidate, name ?? q))
  if (company.dissolved_date !== null) doubts.push(`dissolved on ${company.dissolved_date}`)
  const rivals = candidates.filter((each) => each !== candidate && each.score >= score - MATCH_MARGIN_MIN + 1)
  const isNear = rivals.some((each) => each.score === score) || (score >= MATCH_SCORE_MIN && rivals.length > 0)
  if (isNear)
    doubts.push(
      `another company has ${rivals.some((each) => hasSameName(each, candidate)) ? 'the same' : 'a similar'} name`,
    )
  return doubts
}

/** Without the legal form. */
const hasSameName = (one: Candidate, other: Candidate): boolean =>
  parseName(one.company.legal_name).core.join(' ') === parseName(other.company.legal_name).core.join(' ')

/** The words that one of the names has before or after the other. Without such words, how similar they are. */
function nameDoubt({ company: { legal_name: legal }, signals }: Candidate, asked: string): string {
  const name = parseName(legal)
  const more = wordsAround(normaliseWords(asked), name)
  if (more) return `the query also has "${more}"`
  const missing = wordsAround(name.core, parseName(asked))
  if (missing) return `the name also has "${missing}"`
  return `the name is only ${Math.floor(signals.name_similarity * 100)} % similar`
}

/** The words before and after the name. Undefined if the words do not contain the name. */
function wordsAround(words: readonly string[], { core, suffix }: ParsedName): string | undefined {
  const at = words.findIndex((_, start) => core.every((word, index) => words[start + index] === word))
  if (at < 0) return undefined
  return [...words.slice(0, at), ...withoutLeadingForm(words.slice(at + core.length), suffix)].join(' ')
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
