/**
 * Scores the names of a pool in descending order of their upper bound, and adds the best. Records are read last: one
 * read takes longer than scoring many names.
 */
import { isDissolved, isDissolvedStatus } from '../../../store/dataset/company.ts'
import type { selectCandidates } from '../../../store/index/candidates.ts'
import { CANDIDATES_MAX } from '../../operation/fields.ts'
import type { QueryBudgets } from '../../../store/index/operation-budget.ts'
import {
  buildCandidate,
  EVIDENCE_SCORE_MAX,
  hasEvidence,
  nameScore,
  type QueryEvidence,
  type TopCandidates,
} from './candidate.ts'
import { readCompany, type Register } from './register.ts'

export interface Search {
  register: Register
  query: QueryEvidence
  /** Whether similar names are always returned. A resolution returns them only if no name matches exactly. */
  isSearch: boolean
  budgets: QueryBudgets
  top: TopCandidates
  /** The positions of the names that have been scored. Each is scored once. */
  scored: Set<number>
  accepts: (position: number) => boolean
}

interface Scale {
  /** The similarity of a name with this bound; 0 if it is not a candidate. */
  similarityOf: (position: number, bound: number) => number
  /** The highest similarity of a name with this bound. */
  highestOf: (bound: number) => number
}

/** Returns whether names were left out that could be among the best. An exceeded budget is not reported here. */
export function scoreCandidates(
  search: Search,
  pool: ReturnType<typeof selectCandidates>,
  { similarityOf, highestOf }: Scale,
): boolean {
  const { register, query, budgets, top } = search
  const found: { position: number; similarity: number; score: number }[] = []
  // The best scores before records are read. Evidence only adds to a score, so the last of ten is never too high.
  let best = top.candidates().map(({ score }) => score)
  for (const [at, position] of pool.names.entries()) {
    if (highestScore(search, highestOf(pool.bounds[at]!)) < (best[CANDIDATES_MAX - 1] ?? 0)) break
    const similarity = similarityOf(position, pool.bounds[at]!)
    if (budgets.pairs.isExceeded) break
    if (similarity === 0) continue
    const score = nameScore('fuzzy_name', similarity)
    found.push({ position, similarity, score })
    if (score > (best[CANDIDATES_MAX - 1] ?? 0))
      best = [...best, score].toSorted((one, other) => other - one).slice(0, CANDIDATES_MAX)
    search.scored.add(position)
  }
  const ranks = register.names.statuses.map((status) => Number(isDissolvedStatus(status)))
  const rankOf = (position: number) => ranks[register.names.statusOf(position)]!
  found.sort(
    (one, other) =>
      other.score - one.score || rankOf(one.position) - rankOf(other.position) || one.position - other.position,
  )
  /** The companies added that no later name can outrank: without evidence, those that are not dissolved. */
  let settled = 0
  for (const { position, similarity } of found) {
    if (settled === CANDIDATES_MAX || !top.canEnter(highestScore(search, similarity)) || !budgets.records.take(1)) break
    const company = readCompany(register, position)
    top.add(buildCandidate(company, query, { matchType: 'fuzzy_name', similarity }))
    if (!hasEvidence(query) && !isDissolved(company)) settled += 1
  }
  return pool.excludedBound > 0 && top.canEnter(highestScore(search, highestOf(pool.excludedBound)))
}

/** The highest score of a name with this similarity, with the evidence of the query. */
export function highestScore({ query: { eircode, address } }: Search, similarity: number): number {
  const canGain = eircode !== undefined || address !== undefined
  return nameScore('fuzzy_name', similarity) + (canGain ? EVIDENCE_SCORE_MAX : 0)
}
