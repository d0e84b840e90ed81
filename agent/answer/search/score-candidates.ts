/**
 * Scores the names of a candidate pool and adds the best to the result. Names are scored in descending order of their
 * upper bound. Records are read last, best score first, because one read takes longer than scoring many names.
 */
import type { selectCandidates } from '../../../store/index/candidates.ts'
import { CANDIDATES_MAX } from '../../operation/fields.ts'
import type { QueryBudgets } from '../../../store/index/operation-budget.ts'
import { buildCandidate, EVIDENCE_SCORE_MAX, nameScore, type QueryEvidence } from './candidate.ts'
import { readCompany, type Register } from './register.ts'
import type { TopCandidates } from './top-candidates.ts'

/** Names scored, or records read, between two checks of the time limit. */
const STEPS_PER_TIME_CHECK = 64

/** A query in progress. */
export interface Search {
  register: Register
  query: QueryEvidence
  budgets: QueryBudgets
  top: TopCandidates
  /** The names that have been scored. Each is scored once. */
  scored: Set<number>
  accepts: (name: number) => boolean
  isTimeUp: () => boolean
}

interface Scale {
  /** The similarity of a name; 0 if it is not a candidate. */
  similarityOf: (name: number) => number
  /** The highest similarity of a name with this bound in the pool. */
  highestOf: (bound: number) => number
}

/** `truncated` when names were left out that could be among the best. An exceeded budget is not reported here. */
export function scoreCandidates(
  search: Search,
  pool: ReturnType<typeof selectCandidates>,
  { similarityOf, highestOf }: Scale,
): 'complete' | 'truncated' | 'time_up' {
  const { budgets, top, isTimeUp } = search
  const threshold = new ScoreThreshold(top)
  const found: ScoredName[] = []
  for (const [at, name] of pool.names.entries()) {
    if (!threshold.admits(highestScore(search, highestOf(pool.bounds[at]!)))) break
    if (at % STEPS_PER_TIME_CHECK === 0 && isTimeUp()) return 'time_up'
    const similarity = similarityOf(name)
    if (budgets.pairs.isExceeded) break
    if (similarity === 0) continue
    const score = nameScore('fuzzy_name', similarity)
    threshold.add(score)
    found.push({ name, similarity, score })
    search.scored.add(name)
  }
  if (!addScored(search, found)) return 'time_up'
  const excluded = highestOf(pool.excludedBound)
  return pool.excludedBound > 0 && top.canEnter(highestScore(search, excluded)) ? 'truncated' : 'complete'
}

interface ScoredName {
  name: number
  similarity: number
  /** Without evidence. */
  score: number
}

/** Returns false when the time is up. */
function addScored(search: Search, found: ScoredName[]): boolean {
  const { register, query, budgets, top } = search
  found.sort((one, other) => other.score - one.score || one.name - other.name)
  for (const [at, { name, similarity }] of found.entries()) {
    if (!top.canEnter(highestScore(search, similarity))) break
    if (!budgets.records.take(1)) break
    if (at % STEPS_PER_TIME_CHECK === 0 && search.isTimeUp()) return false
    top.add(buildCandidate(readCompany(register, name), query, { matchType: 'fuzzy_name', similarity }))
  }
  return true
}

/** The highest score of a name with this similarity, with the evidence of the query. */
export function highestScore({ query: { eircode, address } }: Search, similarity: number): number {
  const hasEvidence = eircode !== undefined || address !== undefined
  return nameScore('fuzzy_name', similarity) + (hasEvidence ? EVIDENCE_SCORE_MAX : 0)
}

/**
 * The lowest score that can still be among the best, before records are read and evidence is known. Evidence only adds
 * to a score, so this threshold is never too high.
 */
class ScoreThreshold {
  /** The best scores without evidence, in descending order. */
  readonly #scores: number[]

  constructor(top: TopCandidates) {
    this.#scores = top.candidates().map(({ score }) => score)
  }

  add(score: number): void {
    const at = this.#scores.findIndex((other) => score > other)
    this.#scores.splice(at === -1 ? this.#scores.length : at, 0, score)
    this.#scores.length = Math.min(this.#scores.length, CANDIDATES_MAX)
  }

  admits(score: number): boolean {
    const last = this.#scores[CANDIDATES_MAX - 1]
    return last === undefined || score >= last
  }
}
