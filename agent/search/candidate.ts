/** Builds a candidate of a response: signals, score and conflicts of one company. */
import type { Company } from '../../store/dataset/company.ts'
import type { Candidate } from '../operation/result.ts'
import { compareEvidence, listConflicts, type QueryEvidence } from './evidence.ts'
import { computeScore } from './score.ts'

interface NameMatch {
  matchType: Candidate['match_type']
  similarity: number
  /** How the name equals the legal name; undefined when it does not or no name was given. */
  exact: 'strict_name' | 'relaxed_name' | undefined
  /** Whether the name differs too much from that of the company with the given number. */
  isOtherName?: boolean
}

export function buildCandidate(
  company: Company,
  evidence: QueryEvidence,
  { matchType, similarity, exact, isOtherName = false }: NameMatch,
): Candidate {
  const evidenceSignals = compareEvidence(company, evidence)
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
    conflicts: listConflicts(evidenceSignals, isOtherName),
  }
}
