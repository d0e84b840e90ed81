/** Builds the candidate for an explicit company number. A name or evidence can only add conflicts to it. */
import type { Company } from '../../../store/dataset/company.ts'
import { openQueryBudgets } from '../../../store/index/operation-budget.ts'
import { analyseQuery } from '../../../store/index/query.ts'
import type { Candidate } from '../../operation/result.ts'
import { buildCandidate, type QueryEvidence } from './candidate.ts'
import { findEqualNames } from './equal-names.ts'
import { exactMatchType, isEqualWhenJoined, joinedReadings, parseQueryName, type QueryName } from './equality.ts'
import type { Register } from './register.ts'
import { FUZZY_MAX, similarityMeasure } from './similarity.ts'

/** A name below this similarity, or with a word that has no counterpart, conflicts with the record. */
const SAME_NAME_SIMILARITY_MIN = 0.75

interface NumberQuery extends QueryEvidence {
  name?: string | undefined
}

/** `register` has the company; another company with the name can be in any of `registers`. */
export function candidateByNumber(
  company: Company,
  { name, ...evidence }: NumberQuery,
  { register, registers }: { register: Register; registers: readonly Register[] },
): Candidate {
  const matchType = 'company_number'
  if (name === undefined) return buildCandidate(company, evidence, { matchType, similarity: 0, exact: undefined })
  const query = parseQueryName(name)
  const { exact, isNameOfAnother } = compareEqualNames(registers, company, query)
  if (exact) return buildCandidate(company, evidence, { matchType, similarity: 1, exact })
  const { similarity, isOtherName } = compareSimilarName(register, company, query)
  // A name that is only similar to the company's own, and equal to that of another one, contradicts the number.
  const comparison = { similarity, isOtherName: isOtherName || isNameOfAnother }
  return buildCandidate(company, evidence, { matchType, exact: undefined, ...comparison })
}

/**
 * Finds the first reading with an equal name. Returns how the name of this company equals it, and whether that of any
 * company does.
 */
function compareEqualNames(registers: readonly Register[], company: Company, query: QueryName) {
  const found = registers.flatMap((register) => {
    const accepts = (position: number) => position !== register.withheld
    const { equal, readingIndex } = findEqualNames(register, query, { accepts, budgets: openQueryBudgets() })
    return [...equal.values()].map(({ company: { company_number }, exact }) => ({
      company_number,
      exact,
      readingIndex,
    }))
  })
  const first = Math.min(...found.map(({ readingIndex }) => readingIndex))
  // Compared directly, because the search ends when too many companies have the name.
  const direct = query.readings.slice(0, first + 1).map((reading) => exactMatchType(query, company.legal_name, reading))
  const own = found.find((each) => each.company_number === company.company_number && each.readingIndex === first)
  const exact = direct.find((each) => each !== undefined) ?? own?.exact
  return { exact, isNameOfAnother: found.length > 0 }
}

function compareSimilarName({ names }: Register, company: Company, query: QueryName) {
  if (joinedReadings(query).some((reading) => isEqualWhenJoined(reading, company.legal_name)))
    return { similarity: FUZZY_MAX, isOtherName: false }
  const { core, suffix } = query.similar
  const { spelling, pairs } = openQueryBudgets()
  const measure = similarityMeasure(names, analyseQuery(names, core, spelling), { suffix, budget: pairs })
  const position = names.findByNumber(company.company_number)
  if (position === undefined) throw new Error('The name index does not fit its snapshot')
  const { similarity, isComplete } = measure(position)
  return { similarity, isOtherName: !isComplete || similarity < SAME_NAME_SIMILARITY_MIN }
}
