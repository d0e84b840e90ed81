/** Builds the candidate for an explicit company number. A name or evidence can only add conflicts to it. */
import type { Company } from '../../store/company.ts'
import { openQueryBudgets } from '../../store/index/operation-budget.ts'
import { analyseQuery } from '../../store/index/query.ts'
import type { Candidate } from '../operation/result.ts'
import { buildCandidate } from './candidate.ts'
import { findEqualNames } from './equal-names.ts'
import { exactMatchType, parseForSimilarity, parseQueryName } from './equality.ts'
import type { QueryEvidence } from './evidence.ts'
import type { Register } from './register.ts'
import { similarityMeasure } from './similarity.ts'

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
  const comparison = compareName(register, company, name)
  const isOtherName = comparison.isOtherName || (!comparison.exact && isNameOfAnother(registers, name))
  return buildCandidate(company, evidence, { matchType, ...comparison, isOtherName })
}

function compareName({ names }: Register, company: Company, name: string) {
  const exact = exactMatchType(parseQueryName(name), company.legal_name)
  if (exact) return { exact, similarity: 1, isOtherName: false }
  const { core, suffix } = parseForSimilarity(name)
  const { spelling, pairs } = openQueryBudgets()
  const measure = similarityMeasure(names, analyseQuery(names, core, spelling), { suffix, budget: pairs })
  const position = names.findByNumber(company.company_number)
  if (position === undefined) throw new Error('The name index does not fit its snapshot')
  const { similarity, isComplete } = measure(position)
  return { exact, similarity, isOtherName: !isComplete || similarity < SAME_NAME_SIMILARITY_MIN }
}

/** A name that is only similar to the company's own, and equal to that of another one, contradicts the number. */
function isNameOfAnother(registers: readonly Register[], name: string): boolean {
  const parsed = parseQueryName(name)
  return registers.some((register) => {
    const accepts = (position: number) => position !== register.withheld
    return findEqualNames(register, parsed, { accepts, budgets: openQueryBudgets() }).size > 0
  })
}
