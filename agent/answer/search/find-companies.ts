/**
 * Finds the ten best companies for a name: equal names, then similar ones from bounded pools. Unless `isTruncated`, the
 * result equals that of scoring every name.
 */
import type { Company } from '../../../store/dataset/company.ts'
import { selectCandidates, selectContaining } from '../../../store/index/candidates.ts'
import { findContainedWords } from '../../../store/index/containing.ts'
import type { NameIndex } from '../../../store/index/name-index.ts'
import { parseName } from '../../../store/index/normalise-name.ts'
import { openQueryBudgets, type QueryBudgets } from '../../../store/index/operation-budget.ts'
import { analyseQuery } from '../../../store/index/query.ts'
import type { ParsedName } from '../../../store/index/suffixes.ts'
import type { Candidate } from '../../operation/result.ts'
import { foldStatus } from '../../operation/fields.ts'
import { namesCompany } from '../../operation/typed-number.ts'
import { buildCandidate, type QueryEvidence, TopCandidates } from './candidate.ts'
import { findByTypedNumber } from './by-number.ts'
import {
  doubtOf,
  findEqualNames,
  findNamesWithLetters,
  findSiblings,
  hasSameForm,
  isEqualWhenJoined,
  joinedNames,
} from './equal-names.ts'
import { explain, type Explanation } from './explained-words.ts'
import type { TextAround } from './text-around.ts'
import { readCompany, type Register } from './register.ts'
import { highestScore, scoreCandidates, type Search } from './score-candidates.ts'
import {
  completionCheck,
  containedBound,
  containedMeasure,
  correctedScale,
  DOUBTFUL,
  FUZZY_MAX,
  LENIENT_MIN,
  publishedSimilarity,
  similarityMeasure,
  UNCERTAIN_MAX,
} from './similarity.ts'
import { parseQueryName, type QueryName } from './typed-name.ts'

/** Names below this similarity are not returned. Resolve has the higher minimum, because it decides for one company. */
export const SIMILARITY_MIN = { always: 0.3, without_exact: 0.67 } as const
/** Names with the highest bounds that are scored. The best ten are nearly always among the first hundred. */
const SCORED_NAMES_MAX = 2_000
/** Beside the budgets of operations. High, because time passes while an overloaded machine runs other processes. */
const QUERY_TIME_MAX_MS = 2_000

export interface CompanyQuery extends QueryEvidence {
  name: string
  /** Only companies of this status text, ignoring case. */
  status?: string | undefined
  /** Whether similar names are always returned, or only if no name matches exactly. */
  fuzzy: 'always' | 'without_exact'
}

/** How the candidates were found: by the whole query, a number, the name before a text, or similarity only. */
const CERTAINTIES = ['whole', 'number', 'named', 'similar'] as const

type FindResult =
  | { kind: 'found'; candidates: Candidate[]; isTruncated: boolean; certainty: (typeof CERTAINTIES)[number] }
  /** The time limit was exceeded. Partial results would depend on the machine, so there are none. */
  | { kind: 'too_broad' }

/** Finds companies in several registers as if they were one: the dataset and, on testnet, the synthetic company. */
export function findInRegisters(registers: readonly Register[], query: CompanyQuery, now: () => Date): FindResult {
  const results = registers.map((register) => findCompanies(register, query, { now }))
  const found = results.flatMap((result) => (result.kind === 'found' ? [result] : []))
  if (found.length < results.length) return { kind: 'too_broad' }
  const certainty = CERTAINTIES.find((each) => found.some((result) => result.certainty === each)) ?? 'similar'
  const used = query.fuzzy === 'always' ? found : found.filter((result) => result.certainty === certainty)
  const top = new TopCandidates()
  for (const each of used.flatMap(({ candidates }) => candidates)) top.add(each)
  const isTruncated = found.some((each) => each.isTruncated)
  return { kind: 'found', candidates: top.candidates(), isTruncated, certainty }
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
  const scored = new Set<number>()
  const isSearch = query.fuzzy === 'always'
  const search: Search = {
    register,
    query,
    isSearch,
    budgets,
    top: new TopCandidates(),
    scored,
    accepts: (position) => isOnSale(position) && !scored.has(position),
  }
  const certainty = addDecidingNames(search, name)
  const isDecided = !isSearch && certainty !== 'similar'
  const isPoolTruncated = !isDecided && addNamesLike(search, name)
  if (!isDecided && now().getTime() - start > QUERY_TIME_MAX_MS) return { kind: 'too_broad' }
  const isTruncated = isPoolTruncated || Object.values(budgets).some(({ isExceeded }) => isExceeded)
  return { kind: 'found', candidates: search.top.candidates(), isTruncated, certainty }
}

/** Adds the names that equal the whole query, else the company of its number, else the names before its text. */
function addDecidingNames(search: Search, name: QueryName): (typeof CERTAINTIES)[number] {
  const { register, query, isSearch } = search
  if (addEqualNames(search, findEqualNames(register, name, name.whole, search))) return 'whole'
  const isNumber = name.number !== undefined && namesCompany(name.number)
  // A short number without a label is only a candidate of a search.
  const isAsked = isNumber || isSearch || name.number === undefined
  const byNumber = isAsked ? findByTypedNumber(register, name, query) : undefined
  const position = byNumber && register.names.findByNumber(byNumber.company.company_number)
  if (byNumber && position !== undefined && search.accepts(position)) {
    search.scored.add(position)
    search.top.add(byNumber)
    return 'number'
  }
  // No company has this number, so a resolution has no match.
  if (isNumber && !isSearch) return 'number'
  return addNamedNames(search, name) ? 'named' : 'similar'
}

/**
 * Adds the names before the text behind a legal form, and the names with words of this text. They are doubtful unless
 * every word of the text is explained for one of the companies. Returns whether a name equals the one before the text.
 */
function addNamedNames(search: Search, query: QueryName): boolean {
  const { register, budgets } = search
  const { named, around, textBehind } = query
  if (named !== undefined) {
    const equal = findEqualNames(register, query, [named], search)
    const siblings = findSiblings(register, named, { text: around.words, budget: budgets.postings })
    const companies = Array.from(equal.values(), ({ company }) => company)
    const isExplained = explainFor(search, companies, around) === 'certain'
    addWithText(search, [...equal.keys(), ...siblings], { around, isExplained })
    if (equal.size > 0) return true
  }
  return textBehind !== undefined && addBeginning(search, query.normal.split(' '), textBehind)
}

/**
 * Adds the longest name with which a text without a legal form begins, if the record explains the other words. Returns
 * whether it is certain that they are no part of the name.
 */
function addBeginning(
  search: Search,
  words: readonly string[],
  textBehind: NonNullable<QueryName['textBehind']>,
): boolean {
  for (let count = words.length - 1; count > 0; count -= 1) {
    const found = search.register.names.findExact(words.slice(0, count)).filter(search.accepts)
    const around = found.length === 0 ? undefined : textBehind(count)
    if (around === undefined) continue
    const companies = found.flatMap((position) =>
      search.budgets.records.take(1) ? [readCompany(search.register, position)] : [],
    )
    const explanation = explainFor(search, companies, around)
    if (explanation === 'none') continue
    addWithText(search, found, { around, isExplained: explanation === 'certain' })
    return explanation === 'certain'
  }
  return false
}

/** The best explanation of a text for one of the companies. */
function explainFor({ register, query }: Search, companies: readonly Company[], around: TextAround): Explanation {
  const explanations = new Set(companies.map((company) => explain(register, company, around, query)))
  return EXPLANATIONS.find((each) => explanations.has(each)) ?? 'none'
}

const EXPLANATIONS: readonly Explanation[] = ['certain', 'likely']

/** Adds companies as equal if every word around the name is explained, else as doubtful. */
function addWithText(
  { register, query, top, scored, budgets, accepts }: Search,
  positions: readonly number[],
  { around, isExplained }: { around: TextAround; isExplained: boolean },
): void {
  for (const position of positions) {
    if (!accepts(position) || !budgets.records.take(1)) continue
    scored.add(position)
    const evidence = isExplained ? { ...query, typedEircodes: [...around.eircodes, ...around.agentEircodes] } : query
    top.add(buildCandidate(readCompany(register, position), evidence, isExplained ? EQUAL : DOUBTFUL))
  }
}

const EQUAL = { matchType: 'relaxed_name', similarity: 1, exact: 'relaxed_name' } as const

function addEqualNames({ query, top, scored }: Search, equal: ReturnType<typeof findEqualNames>): boolean {
  for (const [position, { company, exact }] of equal) {
    scored.add(position)
    top.add(buildCandidate(company, query, { matchType: exact, similarity: 1, exact }))
  }
  return equal.size > 0
}

/** Adds names that do not equal the query. Returns whether one that could be among the best was left out. */
function addNamesLike(search: Search, name: QueryName): boolean {
  const { scored, top, isSearch } = search
  const isDoubtful = doubtOf(search.register, name, { known: search.query, budgets: search.budgets })
  addJoinedNames(search, name, isDoubtful)
  const asked = { ...name.similar, isDoubtful }
  const isTruncated = isSearch && addContainingNames(search, asked)
  const scale = isSearch ? correctedScale({ isAlone: scored.size === 0 }) : (similarity: number) => similarity
  if (isSearch && !top.canEnter(highestScore(search, scale(FUZZY_MAX)))) return isTruncated
  const isSimilarTruncated = addSimilarNames(search, asked, scale)
  return isTruncated || isSimilarTruncated
}

/** Adds the names with the letters of the query (contract 12.11). They are not equal: a space can distinguish names. */
function addJoinedNames(search: Search, name: QueryName, isDoubtful: (position: number) => boolean): void {
  const { register, query, budgets, top, scored, accepts } = search
  for (const position of findNamesWithLetters(register, name)) {
    if (!accepts(position) || !budgets.records.take(1)) continue
    const company = readCompany(register, position)
    const names = joinedNames(name)
    if (!names.some((each) => hasSameForm(each, parseName(company.legal_name)))) continue
    scored.add(position)
    const isJoined = names.some((each) => isEqualWhenJoined(each, company.legal_name))
    const similarity = isJoined && !isDoubtful(position) ? FUZZY_MAX : publishedSimilarity(UNCERTAIN_MAX)
    top.add(buildCandidate(company, query, { matchType: 'fuzzy_name', similarity }))
  }
}

type AskedName = ParsedName & { isDoubtful: (position: number) => boolean }

function addContainingNames(search: Search, { core, suffix, isDoubtful }: AskedName): boolean {
  const { register, budgets, accepts } = search
  const { names } = register
  const contained = findContainedWords(names, core, { isOpenEnded: suffix === '', budget: budgets.spelling })
  if (!contained) return false
  const limits = { similarityMin: 0, namesMax: SCORED_NAMES_MAX, accepts, budget: budgets.postings }
  return scoreCandidates(search, selectContaining(names, contained.query, limits), {
    similarityOf: containedMeasure(names, contained, { suffix, isDoubtful, budget: budgets.pairs }),
    highestOf: (bound) => containedBound(contained, bound),
  })
}

function addSimilarNames(
  search: Search,
  { core, suffix, isDoubtful }: AskedName,
  scale: (similarity: number) => number,
): boolean {
  const { register, budgets, accepts, isSearch } = search
  const { names } = register
  const nameQuery = analyseQuery(names, core, budgets.spelling)
  const similarityMin = SIMILARITY_MIN[isSearch ? 'always' : 'without_exact']
  const boundMin = isSearch ? similarityMin : LENIENT_MIN
  const limits = { similarityMin: boundMin, namesMax: SCORED_NAMES_MAX, accepts, budget: budgets.postings }
  const pool = selectCandidates(names, nameQuery, limits)
  const options = { suffix, isDoubtful, budget: budgets.pairs, isLenient: !isSearch }
  const measure = similarityMeasure(names, nameQuery, options)
  const isCompletable = completionCheck(names, nameQuery)
  const similarityOf = (position: number, bound: number) => {
    if (bound < similarityMin && !isCompletable(position)) return 0
    const { similarity } = measure(position)
    return similarity < similarityMin ? 0 : scale(similarity)
  }
  const highestOf = isSearch ? scale : (bound: number) => Math.max(bound, UNCERTAIN_MAX)
  return scoreCandidates(search, pool, { similarityOf, highestOf })
}

function statusFilter(names: NameIndex, status: string | undefined): (position: number) => boolean {
  if (status === undefined) return () => true
  const wanted = foldStatus(status)
  const accepted = names.statuses.map((each) => each !== null && foldStatus(each) === wanted)
  return (position) => accepted[names.statusOf(position)] ?? false
}
