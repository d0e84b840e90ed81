/** Builds the candidate for an explicit company number. A name or evidence can only add conflicts to it. */
import type { Company } from '../../store/company.ts'
import { analyseQuery } from '../../store/index/query.ts'
import type { Candidate } from '../operation/result.ts'
import { buildCandidate } from './candidate.ts'
import { exactMatchType, parseForSimilarity, parseQueryName } from './equality.ts'
import type { QueryEvidence } from './evidence.ts'
import type { Register } from './find.ts'
import { similarityMeasure } from './similarity.ts'

/** A name below this similarity, or with a word that has no counterpart, conflicts with the record. */
const SAME_NAME_SIMILARITY_MIN = 0.75

export function candidateByNumber(
  register: Register,
  company: Company,
  { name, ...evidence }: QueryEvidence & { name?: string | undefined },
): Candidate {
  const matchType = 'company_number'
  if (name === undefined) return buildCandidate(company, evidence, { matchType, similarity: 0, exact: undefined })
  return buildCandidate(company, evidence, { matchType, ...compareName(register, company, name) })
}

function compareName({ names }: Register, company: Company, name: string) {
  const exact = exactMatchType(parseQueryName(name), company.legal_name)
  if (exact) return { exact, similarity: 1, isOtherName: false }
  const { core, suffix } = parseForSimilarity(name)
  const measure = similarityMeasure(names, analyseQuery(names, core), suffix)
  const { similarity, isComplete } = measure(names.findByNumber(company.company_number))
  return { exact, similarity, isOtherName: !isComplete || similarity < SAME_NAME_SIMILARITY_MIN }
}
