/**
 * Finds the ten best companies for a name: equal names, then similar ones from bounded pools. The result equals that of
 * scoring every name; `isTruncated` reports when a limit prevented this.
 */
import { selectCandidates, selectContaining } from '../../../store/index/candidates.ts'
import { areInitials } from '../../../store/index/name-keys.ts'
import type { NameIndex } from '../../../store/index/name-index.ts'
import { openQueryBudgets, type QueryBudgets } from '../../../store/index/operation-budget.ts'
import { analyseQuery } from '../../../store/index/query.ts'
import { listReadings } from '../../../store/index/readings.ts'
import type { ParsedName } from '../../../store/index/suffixes.ts'
import type { Candidate } from '../../operation/result.ts'
import { CANDIDATES_MAX, foldStatus } from '../../operation/fields.ts'
import { buildCandidate, type QueryEvidence } from './candidate.ts'
import { parseQueryName, type QueryName } from './equality.ts'
import { findEqualNames, findJoinedName } from './equal-names.ts'
import { readCompany, type Register } from './register.ts'
import { highestScore, scoreCandidates, type Search } from './score-candidates.ts'
import { correctedScale, INITIALS_SIMILARITY, readingBound, readingMeasure } from './similarity-ranges.ts'
import { FUZZY_MAX, similarityMeasure } from './similarity.ts'
import { TopCandidates } from './top-candidates.ts'

type PoolOutcome = ReturnType<typeof scoreCandidates>

/** Names below this similarity are not returned. Resolve has the higher minimum, because it decides for one company. */
export const SIMILARITY_MIN = { always: 0.3, without_exact: 0.67 } as const
/** Names with the highest bounds that are scored. The best ten are nearly always among the first hundred. */
const SCORED_NAMES_MAX = 2_000
/**
 * Candidates reserved for names whose initials are the query, because corrections of a short word could fill all ten.
 */
const INITIALS_CANDIDATES_MAX = 3
/** Names with the initials that are read to find the first ones. */
const INITIALS_READ_MAX = 30
/**
 * The second limit after the budgets of operations. A hundred times the slowest query (docs/benchmarks.md), because
 * time also passes while an overloaded machine runs other processes.
 */
const QUERY_TIME_MAX_MS = 2_000

export interface CompanyQuery extends QueryEvidence {
  name: string
  /** Only companies of this status text, ignoring case. */
  status?: string | undefined
  /** Whether similar names are always returned, or only if no name matches exactly. */
  fuzzy: 'always' | 'without_exact'
}

type FindResult =
  | {
      kind: 'found'
      candidates: Candidate[]
      isTruncated: boolean
      /** The index of the reading by which the exact candidates were found. 0 is the most literal one. */
      readingIndex: number
    }
  /** The time limit was exceeded. Partial results would depend on the machine, so there are none. */
  | { kind: 'too_broad' }

/**
 * Finds companies in several registers as if they were one. On testnet these are the dataset and the synthetic company.
 */
export function findInRegisters(registers: readonly Register[], query: CompanyQuery, now: () => Date): FindResult {
  const results = registers.map((register) => findCompanies(register, query, { now }))
  const found = results.flatMap((result) => (result.kind === 'found' ? [result] : []))
  if (found.length < results.length) return { kind: 'too_broad' }
  const withExact = found.filter(({ candidates }) => candidates.some(({ match_type }) => match_type !== 'fuzzy_name'))
  const readingIndex = Math.min(...withExact.map((each) => each.readingIndex))
  const deciding = withExact.filter((each) => each.readingIndex === readingIndex)
  const used = query.fuzzy === 'always' || deciding.length === 0 ? found : deciding
  const top = new TopCandidates()
  for (const each of used.flatMap(({ candidates }) => candidates)) top.add(each)
  const isTruncated = found.some((each) => each.isTruncated)
  return { kind: 'found', candidates: top.candidates(), isTruncated, readingIndex }
}

export function findCompanies(
  register: Register,
  asked: CompanyQuery,
  { now, budgets = openQueryBudgets() }: { now: () => Date; budgets?: QueryBudgets },
): FindResult {
  const start = now().getTime()
  const name = parseQueryName(asked.name)
  const query = { ...asked, numbers: name.numbers }
  const hasStatus = statusFilter(register.names, query.status)
  const isOnSale = (position: number) => position !== register.withheld && hasStatus(position)
  const top = new TopCandidates()
  const { equal, readingIndex } = findEqualNames(register, name, { accepts: isOnSale, budgets })
  for (const { company, exact } of equal.values())
    top.add(buildCandidate(company, query, { matchType: exact, similarity: 1, exact }))
  const scored = new Set(equal.keys())
  const search: Search = {
    register,
    query,
    budgets,
    top,
    scored,
    accepts: (position) => isOnSale(position) && !scored.has(position),
    isTimeUp: () => now().getTime() - start > QUERY_TIME_MAX_MS,
  }
  const isSearch = query.fuzzy === 'always'
  const parsed = name.similar
  if (isSearch || equal.size === 0) addJoinedName(search, name)
  const outcomes: PoolOutcome[] = []
  if (isSearch) outcomes.push(addContainingNames(search, parsed))
  const scale = isSearch ? correctedScale({ isAlone: scored.size === 0 }) : (similarity: number) => similarity
  if (isSearch ? top.canEnter(highestScore(search, scale(FUZZY_MAX))) : equal.size === 0)
    outcomes.push(addSimilarNames(search, parsed, { similarityMin: SIMILARITY_MIN[query.fuzzy], scale }))
  if (outcomes.includes('time_up')) return { kind: 'too_broad' }
  const isTruncated = outcomes.includes('truncated') || Object.values(budgets).some(({ isExceeded }) => isExceeded)
  const candidates = isSearch ? withInitialsNames(search, parsed) : top.candidates()
  return { kind: 'found', candidates, isTruncated, readingIndex }
}

/** Adds the name that differs only in spaces and "and" as the most similar one. */
function addJoinedName({ register, query, budgets, top, scored, accepts }: Search, name: QueryName): void {
  const joined = findJoinedName(register, name, { accepts, budgets })
  if (joined === undefined) return
  scored.add(joined.name)
  const match = { matchType: 'fuzzy_name', similarity: FUZZY_MAX, exact: undefined } as const
  top.add(buildCandidate(joined.company, query, match))
}

/** Adds the names that contain every word of a search. */
function addContainingNames(search: Search, { core, suffix }: ParsedName): PoolOutcome {
  const { register, budgets, accepts, isTimeUp } = search
  const { names } = register
  let outcome: PoolOutcome = isTimeUp() ? 'time_up' : 'complete'
  const readings = listReadings(names, core, { isOpenEnded: suffix === '', budget: budgets.spelling })
  for (const reading of readings) {
    if (outcome === 'time_up') break
    const limits = { similarityMin: 0, namesMax: SCORED_NAMES_MAX, accepts, budget: budgets.postings }
    const pool = selectContaining(names, reading.query, limits)
    const added = scoreCandidates(search, pool, {
      similarityOf: readingMeasure(names, reading, { suffix, budget: budgets.pairs }),
      highestOf: (bound) => readingBound(reading, bound),
    })
    if (added !== 'complete') outcome = added
  }
  return outcome
}

/** Adds names that have only some words of the query, or spelling variants of them. */
function addSimilarNames(
  search: Search,
  { core, suffix }: ParsedName,
  { similarityMin, scale }: { similarityMin: number; scale: (similarity: number) => number },
): PoolOutcome {
  const { register, budgets, accepts, isTimeUp } = search
  const { names } = register
  const nameQuery = analyseQuery(names, core, budgets.spelling)
  if (isTimeUp()) return 'time_up'
  const limits = { similarityMin, namesMax: SCORED_NAMES_MAX, accepts, budget: budgets.postings }
  const pool = selectCandidates(names, nameQuery, limits)
  if (isTimeUp()) return 'time_up'
  const measure = similarityMeasure(names, nameQuery, { suffix, budget: budgets.pairs })
  const similarityOf = (name: number) => {
    const { similarity } = measure(name)
    return similarity < similarityMin ? 0 : scale(similarity)
  }
  return scoreCandidates(search, pool, { similarityOf, highestOf: scale })
}

/** The best candidates, followed by the first names whose initials are the query. */
function withInitialsNames(search: Search, { core }: ParsedName): Candidate[] {
  const { register, query, budgets, top, accepts } = search
  const [initials = ''] = core
  if (core.length !== 1 || !areInitials(initials)) return top.candidates()
  const found = new TopCandidates(INITIALS_CANDIDATES_MAX)
  const names = register.names.namesWithInitials(initials, budgets.postings).filter(accepts)
  for (const name of names.slice(0, INITIALS_READ_MAX)) {
    if (!budgets.records.take(1)) break
    const match = { matchType: 'fuzzy_name', similarity: INITIALS_SIMILARITY, exact: undefined } as const
    found.add(buildCandidate(readCompany(register, name), query, match))
  }
  const last = found.candidates()
  const merged = new TopCandidates()
  for (const each of [...top.candidates().slice(0, CANDIDATES_MAX - last.length), ...last]) merged.add(each)
  return merged.candidates()
}

function statusFilter(names: NameIndex, status: string | undefined): (name: number) => boolean {
  if (status === undefined) return () => true
  const wanted = foldStatus(status)
  const accepted = names.statuses.map((each) => each !== null && foldStatus(each) === wanted)
  return (name) => accepted[names.statusOf(name)] ?? false
}
