/** Builds a candidate of a response: signals, score (contract 12.2) and conflicts (contract 12.4) of one company. */
import { type Company, compareCompanyNumbers, isDissolved } from '../../../store/dataset/company.ts'
import { SCORE_MAX, type Candidate } from '../../operation/result.ts'
import { isSameNumber, type TypedNumbers } from '../../operation/typed-number.ts'
import { CANDIDATES_MAX } from '../../operation/fields.ts'
import { containsWords } from './own-address.ts'

/** SCORE_DEFINITION states the same values to clients. */
const SCORES = { company_number: 1000, strict_name: 1000, relaxed_name: 960 }
const FUZZY_SCORE_MAX = 850
export const EIRCODE_SCORE = 80
export const ADDRESS_SCORE = 40

/** The most that evidence adds to the score of a name. */
export const EVIDENCE_SCORE_MAX = EIRCODE_SCORE + ADDRESS_SCORE

/** The score without evidence. */
export function nameScore(matchType: Candidate['match_type'], similarity: number): number {
  return matchType === 'fuzzy_name' ? Math.floor(FUZZY_SCORE_MAX * similarity) : SCORES[matchType]
}

export function computeScore(matchType: Candidate['match_type'], signals: Candidate['signals']): number {
  const evidence =
    (signals.eircode_exact === true ? EIRCODE_SCORE : 0) + (signals.address_contains === true ? ADDRESS_SCORE : 0)
  return Math.min(SCORE_MAX, nameScore(matchType, signals.name_similarity) + evidence)
}

export interface QueryEvidence {
  /** Canonical: seven characters without spaces. */
  eircode?: string | undefined
  /** Those in the text around the name. Another one than that of the record is unexplained and no conflict. */
  typedEircodes?: readonly string[] | undefined
  /** A fragment of the address lines and the Eircode. */
  address?: string | undefined
  /** Numbers in the text around the name. One with a label is a company number. */
  numbers?: Pick<TypedNumbers, 'labelled' | 'others'> | undefined
}

/** Whether records of one name can differ in their signals. */
export function hasEvidence({ eircode, address, numbers, typedEircodes = [] }: QueryEvidence): boolean {
  const typed = [...typedEircodes, ...(numbers?.labelled ?? []), ...(numbers?.others ?? [])]
  return eircode !== undefined || address !== undefined || typed.length > 0
}

/** A signal is null when the query or the record has no value to compare. */
export function compareEvidence(
  { company_number, registered_address }: Company,
  { eircode, typedEircodes = [], address, numbers }: QueryEvidence,
) {
  const registered = registered_address.eircode?.replaceAll(' ', '') ?? null
  const isOwn = (digits: string) => isSameNumber(digits, company_number)
  return {
    eircode_exact: compareEircode(registered, eircode, typedEircodes),
    company_number_exact: [...(numbers?.labelled ?? []), ...(numbers?.others ?? [])].some(isOwn),
    address_contains: address === undefined ? null : addressContains(registered_address, address),
  }
}

function compareEircode(
  registered: string | null,
  given: string | undefined,
  typed: readonly string[],
): boolean | null {
  if (registered === null) return null
  if (given !== undefined) return given === registered
  return typed.includes(registered) ? true : null
}

/**
 * Compares whole words in any notation of an address. Null for a record without address lines: an Eircode cannot
 * contradict the fragment.
 */
function addressContains(address: Company['registered_address'], fragment: string): boolean | null {
  const { lines, eircode } = address
  const isContained = containsWords([...lines, eircode ?? '', eircode?.replaceAll(' ', '') ?? ''].join(' '), fragment)
  return isContained || (lines.length > 0 ? false : null)
}

export interface NameMatch {
  matchType: Candidate['match_type']
  similarity: number
  /** How the name equals the legal name, if it does. */
  exact?: 'strict_name' | 'relaxed_name' | undefined
  /** Whether the name differs too much from that of the company with the given number. */
  isOtherName?: boolean
}

export function buildCandidate(
  company: Company,
  evidence: QueryEvidence,
  { matchType, similarity, exact, isOtherName = false }: NameMatch,
): Candidate {
  const evidenceSignals = compareEvidence(company, evidence)
  const labelled = evidence.numbers?.labelled ?? []
  const hasOtherNumber = labelled.length > 0 && !labelled.some((digits) => isSameNumber(digits, company.company_number))
  const signals = {
    name_similarity: similarity,
    strict_name_exact: exact === 'strict_name',
    relaxed_name_exact: exact !== undefined,
    ...evidenceSignals,
    company_number_exact: matchType === 'company_number' || evidenceSignals.company_number_exact,
  }
  return {
    company,
    score: computeScore(matchType, signals),
    match_type: matchType,
    signals,
    conflicts: [
      ...(signals.eircode_exact === false ? (['eircode_mismatch'] as const) : []),
      ...(isOtherName ? (['name_mismatch'] as const) : []),
      ...(hasOtherNumber ? (['number_mismatch'] as const) : []),
    ],
  }
}

/** The best candidates in the order of the response (contract 12.8). */
export class TopCandidates {
  readonly #candidates: Candidate[] = []

  canEnter(score: number): boolean {
    const last = this.#candidates[CANDIDATES_MAX - 1]
    return last === undefined || score >= last.score
  }

  add(candidate: Candidate): void {
    const at = this.#candidates.findIndex((other) => compareRank(candidate, other) < 0)
    this.#candidates.splice(at === -1 ? this.#candidates.length : at, 0, candidate)
    this.#candidates.length = Math.min(this.#candidates.length, CANDIDATES_MAX)
  }

  candidates(): Candidate[] {
    return [...this.#candidates]
  }
}

function compareRank(one: Candidate, other: Candidate): number {
  return (
    other.score - one.score ||
    evidenceRank(other) - evidenceRank(one) ||
    Number(isDissolved(one.company)) - Number(isDissolved(other.company)) ||
    compareCompanyNumbers(one.company.company_number, other.company.company_number)
  )
}

/** A number outweighs an Eircode, which outweighs an address. Contradicting evidence ranks below missing evidence. */
function evidenceRank({ signals: { company_number_exact, eircode_exact, address_contains } }: Candidate): number {
  const rank = (signal: boolean | null) => Number(signal === true) - Number(signal === false)
  return 9 * Number(company_number_exact) + 3 * rank(eircode_exact) + rank(address_contains)
}
