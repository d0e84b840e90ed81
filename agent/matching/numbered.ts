/** Judges the one company that an explicit number names (spec 4.3): the number decides, a name or Eircode may contradict. */
import type { Company } from '../../store/company.ts'
import { readQuery } from '../../store/index/query.ts'
import type { Candidate } from '../operation/result.ts'
import { equalityOf, readForSimilarity, readName } from './equality.ts'
import { conflictsOf, evidenceFor, type EvidenceAsked } from './evidence.ts'
import type { Register } from './find.ts'
import { scoreOf } from './score.ts'
import { similarityTo } from './similarity.ts'

/** Below this, or with a word that has no counterpart, a name is another name. */
const SAME_NAME_SIMILARITY_MIN = 0.75

export function judgeNumbered(
  register: Register,
  company: Company,
  asked: EvidenceAsked & { name?: string | undefined },
): Candidate {
  const { equality, similarity, isSame } =
    asked.name === undefined
      ? { equality: undefined, similarity: 0, isSame: true }
      : compareWith(register, company, asked.name)
  const evidence = evidenceFor(company, asked)
  const signals = {
    name_similarity: similarity,
    strict_name_exact: equality === 'strict_name',
    relaxed_name_exact: equality !== undefined,
    ...evidence,
    company_number_exact: true,
  }
  return {
    company,
    score: scoreOf('company_number', signals),
    match_type: 'company_number',
    signals,
    conflicts: conflictsOf(evidence, !isSame),
  }
}

function compareWith({ names }: Register, company: Company, name: string) {
  const asked = readName(name)
  const equality = equalityOf(asked, company.legal_name)
  if (equality) return { equality, similarity: 1, isSame: true }
  const held = names.nameOf(company.company_number)
  const { core, suffix } = readForSimilarity(name)
  const { similarity, isWhole } = similarityTo(names, readQuery(names, core), suffix)(held)
  return { equality, similarity, isSame: isWhole && similarity >= SAME_NAME_SIMILARITY_MIN }
}
