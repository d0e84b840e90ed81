/**
 * Finds the ten best companies for a name: exact matches, and similar names from a bounded pool. Names are scored in order
 * of an upper bound of their similarity, until no later one can enter the ten. The result then equals that of scoring every
 * name; `isTruncated` reports when a limit prevented this.
 */
import { selectCandidates } from '../../store/index/candidates.ts'
import type { NameIndex } from '../../store/index/name-index.ts'
import { openQueryBudgets, type QueryBudgets } from '../../store/index/operation-budget.ts'
import { analyseQuery } from '../../store/index/query.ts'
import type { Candidate } from '../operation/result.ts'
import { buildCandidate } from './candidate.ts'
import { parseForSimilarity, parseQueryName } from './equality.ts'
import type { QueryEvidence } from './evidence.ts'
import { findEqualNames } from './equal-names.ts'
import { readCompany, type Register } from './register.ts'
import { EVIDENCE_SCORE_MAX, nameScore } from './score.ts'
import { similarityMeasure } from './similarity.ts'
import { ScoreThreshold, TopCandidates } from './top-candidates.ts'

/** Names below this similarity are not returned. Resolve has the higher minimum, because it decides for one company. */
export const SIMILARITY_MIN = { always: 0.3, without_exact: 0.65 } as const
/** Names with the highest bounds that are scored. The best ten are nearly always among the first hundred. */
const SCORED_NAMES_MAX = 2_000
/** Names scored, or records read, between two checks of the time limit. */
const STEPS_PER_TIME_CHECK = 64
/**
 * The second limit after the budgets of operations, for a machine that is slow or overloaded. Ten times the slowest query
 * (docs/benchmarks.md). Other requests wait while one is computed.
 */
const QUERY_TIME_MAX_MS = 250

export interface CompanyQuery extends QueryEvidence {
  name: string
  /** Only companies of this status text, ignoring case. */
  status?: string | undefined
  /** Whether similar names are always returned, or only if no name matches exactly. */
  fuzzy: 'always' | 'without_exact'
}

export interface FoundCompanies {
  kind: 'found'
  candidates: Candidate[]
  isTruncated: boolean
  /** The reading of the name that exact candidates equal, see {@link EqualNames}. */
  reading: number
}

export type FindResult =
  | FoundCompanies
  /** The time limit was exceeded. Partial results would depend on the machine, so there are none. */
  | { kind: 'too_broad' }

export function findCompanies(
  register: Register,
  asked: CompanyQuery,
  { now, budgets = openQueryBudgets() }: { now: () => Date; budgets?: QueryBudgets },
): FindResult {
  const start = now().getTime()
  const isTimeUp = () => now().getTime() - start > QUERY_TIME_MAX_MS
  const name = parseQueryName(asked.name)
  const query = { ...asked, numbers: name.numbers }
  const top = new TopCandidates()
  const hasStatus = statusFilter(register.names, query.status)
  const isOnSale = (position: number) => position !== register.withheld && hasStatus(position)
  const { equal, reading } = findEqualNames(register, name, { accepts: isOnSale, budgets })
  for (const { company, exact } of equal.values())
    top.add(buildCandidate(company, query, { matchType: exact, similarity: 1, exact }))
  if (isTimeUp()) return { kind: 'too_broad' }
  let isTruncated = false
  if (query.fuzzy === 'always' || equal.size === 0) {
    const accepts = (position: number) => isOnSale(position) && !equal.has(position)
    const outcome = addSimilarNames(register, query, { accepts, top, budgets, isTimeUp })
    if (outcome === 'time_up') return { kind: 'too_broad' }
    isTruncated = outcome === 'truncated'
  }
  isTruncated ||= Object.values(budgets).some(({ isExceeded }) => isExceeded)
  return { kind: 'found', candidates: top.candidates(), isTruncated, reading }
}

/** What adds candidates: which names it may add, where to, and how much work it may do. */
interface Search {
  accepts: (name: number) => boolean
  top: TopCandidates
  budgets: QueryBudgets
}

function addSimilarNames(
  register: Register,
  query: CompanyQuery,
  { accepts, top, budgets, isTimeUp }: Search & { isTimeUp: () => boolean },
): 'complete' | 'truncated' | 'time_up' {
  const { names } = register
  const { core, suffix } = parseForSimilarity(query.name)
  const similarityMin = SIMILARITY_MIN[query.fuzzy]
  const nameQuery = analyseQuery(names, core, budgets.spelling)
  if (isTimeUp()) return 'time_up'
  const limits = { similarityMin, namesMax: SCORED_NAMES_MAX, accepts, budget: budgets.postings }
  const pool = selectCandidates(names, nameQuery, limits)
  if (isTimeUp()) return 'time_up'
  const measure = similarityMeasure(names, nameQuery, { suffix, budget: budgets.pairs })
  const evidenceMax = query.eircode === undefined && query.address === undefined ? 0 : EVIDENCE_SCORE_MAX
  const threshold = new ScoreThreshold(top)
  const scored: ScoredName[] = []
  for (const [at, name] of pool.names.entries()) {
    if (!threshold.admits(nameScore('fuzzy_name', pool.bounds[at]!) + evidenceMax)) break
    if (at % STEPS_PER_TIME_CHECK === 0 && isTimeUp()) return 'time_up'
    const { similarity } = measure(name)
    if (budgets.pairs.isExceeded) break
    if (similarity < similarityMin) continue
    const score = nameScore('fuzzy_name', similarity)
    threshold.add(score)
    scored.push({ name, similarity, score })
  }
  const isRead = addScoredNames(register, query, { scored, evidenceMax, top, budgets, isTimeUp })
  if (!isRead) return 'time_up'
  const { excludedBound } = pool
  const canEnter = top.canEnter(nameScore('fuzzy_name', excludedBound) + evidenceMax)
  return excludedBound >= similarityMin && canEnter ? 'truncated' : 'complete'
}

interface ScoredName {
  name: number
  similarity: number
  /** Without evidence. */
  score: number
}

/** Reads the records of the names that can be among the best, best first. Returns false when the time is up. */
function addScoredNames(
  register: Register,
  query: CompanyQuery,
  {
    scored,
    evidenceMax,
    top,
    budgets,
    isTimeUp,
  }: Omit<Search, 'accepts'> & { scored: ScoredName[]; evidenceMax: number; isTimeUp: () => boolean },
): boolean {
  scored.sort((one, other) => other.score - one.score || one.name - other.name)
  for (const [at, { name, similarity, score }] of scored.entries()) {
    if (!top.canEnter(score + evidenceMax)) break
    if (!budgets.records.take(1)) break
    if (at % STEPS_PER_TIME_CHECK === 0 && isTimeUp()) return false
    const match = { matchType: 'fuzzy_name', similarity, exact: undefined } as const
    top.add(buildCandidate(readCompany(register, name), query, match))
  }
  return true
}

function statusFilter(names: NameIndex, status: string | undefined): (name: number) => boolean {
  if (status === undefined) return () => true
  const wanted = foldCase(status)
  const accepted = names.statuses.map((each) => each !== null && foldCase(each) === wanted)
  return (name) => accepted[names.statusOf(name)] ?? false
}

function foldCase(status: string): string {
  return status.normalize('NFKC').trim().toLowerCase()
}
