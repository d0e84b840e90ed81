/**
 * Finds the ten best companies for a name: exact matches, and similar names from a bounded pool. Names are scored in order
 * of an upper bound of their similarity, until no later one can enter the ten. The result then equals that of scoring every
 * name; `isTruncated` reports when a limit prevented this.
 */
import { selectCandidates } from '../../store/index/candidates.ts'
import type { NameIndex } from '../../store/index/name-index.ts'
import { analyseQuery } from '../../store/index/query.ts'
import type { Candidate } from '../operation/result.ts'
import { buildCandidate } from './candidate.ts'
import { parseForSimilarity, parseQueryName } from './equality.ts'
import type { QueryEvidence } from './evidence.ts'
import { findEqualNames } from './equal-names.ts'
import { readCompany, type Register } from './register.ts'
import { EVIDENCE_SCORE_MAX, nameScore } from './score.ts'
import { similarityMeasure } from './similarity.ts'
import { TopCandidates } from './top-candidates.ts'

/** Names below this similarity are not returned. Resolve has the higher minimum, because it decides for one company. */
export const SIMILARITY_MIN = { always: 0.3, without_exact: 0.5 } as const
/** Bounds the time of one query to some milliseconds. */
const SCORED_NAMES_MAX = 2_000
/** Names scored between two checks of the time limit. */
const NAMES_PER_TIME_CHECK = 256
/** Far above the slowest measured query (docs/benchmarks.md). Other requests wait while one is computed. */
const QUERY_TIME_MAX_MS = 250

export interface CompanyQuery extends QueryEvidence {
  name: string
  /** Only companies of this status text, ignoring case. */
  status?: string | undefined
  /** Whether similar names are always returned, or only if no name matches exactly. */
  fuzzy: 'always' | 'without_exact'
}

export type FindResult =
  | { kind: 'found'; candidates: Candidate[]; isTruncated: boolean }
  /** The time limit was exceeded. Partial results would depend on the machine, so there are none. */
  | { kind: 'too_broad' }

export function findCompanies(register: Register, query: CompanyQuery, now: () => Date): FindResult {
  const start = now().getTime()
  const isTimeUp = () => now().getTime() - start > QUERY_TIME_MAX_MS
  const top = new TopCandidates()
  const hasStatus = statusFilter(register.names, query.status)
  const isOnSale = (name: number) => name !== register.withheld && hasStatus(name)
  const { equal, isTruncated } = findEqualNames(register, parseQueryName(query.name), isOnSale)
  for (const { company, exact } of equal.values())
    top.add(buildCandidate(company, query, { matchType: exact, similarity: 1, exact }))
  if (query.fuzzy === 'without_exact' && equal.size > 0)
    return { kind: 'found', candidates: top.candidates(), isTruncated }

  const accepts = (name: number) => isOnSale(name) && !equal.has(name)
  const scoring = scoreSimilarNames(register, query, { accepts, top, isTimeUp })
  if (scoring === 'time_up') return { kind: 'too_broad' }
  return { kind: 'found', candidates: top.candidates(), isTruncated: isTruncated || scoring === 'truncated' }
}

function scoreSimilarNames(
  register: Register,
  query: CompanyQuery,
  { accepts, top, isTimeUp }: { accepts: (name: number) => boolean; top: TopCandidates; isTimeUp: () => boolean },
): 'complete' | 'truncated' | 'time_up' {
  const { names } = register
  const { core, suffix } = parseForSimilarity(query.name)
  const nameQuery = analyseQuery(names, core)
  if (isTimeUp()) return 'time_up'
  const similarityMin = SIMILARITY_MIN[query.fuzzy]
  const pool = selectCandidates(names, nameQuery, { similarityMin, namesMax: SCORED_NAMES_MAX, accepts })
  const measure = similarityMeasure(names, nameQuery, suffix)
  const evidenceMax = query.eircode === undefined && query.address === undefined ? 0 : EVIDENCE_SCORE_MAX
  const canEnter = (similarity: number) => top.canEnter(nameScore('fuzzy_name', similarity) + evidenceMax)
  for (const [at, name] of pool.names.entries()) {
    if (!canEnter(pool.bounds[at]!)) break
    if (at % NAMES_PER_TIME_CHECK === 0 && isTimeUp()) return 'time_up'
    const { similarity } = measure(name)
    if (similarity < similarityMin || !canEnter(similarity)) continue
    const match = { matchType: 'fuzzy_name', similarity, exact: undefined } as const
    top.add(buildCandidate(readCompany(register, name), query, match))
  }
  return pool.excludedBound >= similarityMin && canEnter(pool.excludedBound) ? 'truncated' : 'complete'
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
