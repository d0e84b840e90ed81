/**
 * Selects a bounded pool of names that are similar to a query. The contributions of all query terms to a name, divided
 * by the weights of both names, are an upper bound of the similarity. The pool holds the names with the highest bounds,
 * so the caller can stop as soon as no later name can be better.
 */
import type { NameIndex } from './name-index.ts'
import type { OperationBudget } from './operation-budget.ts'
import type { NameQuery } from './query.ts'

/** Bounds are rounded up to thousandths, so that names can be sorted by counting. */
const BOUND_LEVELS = 1000

interface CandidatePool {
  /** In descending order of the bound. */
  names: Uint32Array
  bounds: Float64Array
  /** The highest bound of the names that did not fit; 0 when all fitted. */
  excludedBound: number
}

interface PoolLimits {
  similarityMin: number
  namesMax: number
  accepts: (name: number) => boolean
  /** Counts the names visited in postings. When it is exceeded, names are missing and bounds can be too low. */
  budget: OperationBudget
}

/** Sums per name. Kept between queries: allocating the arrays per query is slower (benchmark row `search`). */
interface Accumulator {
  sums: Float32Array
  /** The number of the last term that contributed to a name, so that each term contributes once. */
  lastTerms: Uint32Array
  term: number
  /** The names with a sum. */
  touched: Uint32Array
}

const accumulators = new WeakMap<NameIndex, Accumulator>()

function accumulatorFor(index: NameIndex): Accumulator {
  const known = accumulators.get(index)
  if (known) return known
  const ofNames = () => new Uint32Array(index.size)
  const accumulator = { sums: new Float32Array(index.size), lastTerms: ofNames(), term: 0, touched: ofNames() }
  accumulators.set(index, accumulator)
  return accumulator
}

export function selectCandidates(index: NameIndex, query: NameQuery, limits: PoolLimits): CandidatePool {
  return select(accumulate, index, query, limits)
}

/** Like `selectCandidates`, but only names that contain every word of the query. */
export function selectContaining(index: NameIndex, query: NameQuery, limits: PoolLimits): CandidatePool {
  return select(accumulateContaining, index, query, limits)
}

function select(addUp: typeof accumulate, index: NameIndex, query: NameQuery, limits: PoolLimits): CandidatePool {
  const accumulator = accumulatorFor(index)
  const touched = addUp(index, query, { accumulator, limits })
  const pool = selectHighestBounds(index, query, { accumulator, touched, limits })
  for (let at = 0; at < touched; at += 1) accumulator.sums[accumulator.touched[at]!] = 0
  return pool
}

/**
 * The sums of the names that contain every word, and their number. Each term of a reading has one word, except the
 * last one, which can have several completions: a name then gets the sum of the first of them that it contains.
 */
function accumulateContaining(
  index: NameIndex,
  { terms }: NameQuery,
  { accumulator: { sums, touched: names }, limits: { budget } }: { accumulator: Accumulator; limits: PoolLimits },
): number {
  const contributions = terms.map((term) => listContributions(index, term))
  const single = contributions.filter(({ length }) => length === 1).flat()
  const singleAmount = single.reduce((sum, { amount }) => sum + amount, 0)
  const words = single.map(({ word }) => word)
  const withSingle = namesWithAll(index, words, budget)
  let touched = 0
  const add = (found: Uint32Array, amount: number) => {
    for (const name of found) {
      if (sums[name] !== 0) continue
      sums[name] = amount
      names[touched++] = name
    }
  }
  const completions = contributions.find(({ length }) => length > 1)
  if (!completions) add(withSingle ?? NO_NAMES, singleAmount)
  for (const { word, amount } of completions ?? []) {
    const postings = index.postings(word)
    if (!budget.take(1 + Math.min(postings.length, withSingle?.length ?? postings.length))) break
    const isRarer = withSingle !== undefined && withSingle.length < postings.length
    const found = isRarer
      ? withWord(index, withSingle, word)
      : postings.filter((name) => words.every((each) => index.hasWord(name, each)))
    add(found, singleAmount + amount)
  }
  return touched
}

/** The names that contain all words; undefined without words. None when the budget is exceeded. */
export function namesWithAll(
  index: NameIndex,
  words: readonly number[],
  budget: OperationBudget,
): Uint32Array | undefined {
  const rareness = (word: number) => index.postings(word).length
  const [rarest, ...others] = words.toSorted((one, other) => rareness(one) - rareness(other))
  return others.reduce<Uint32Array | undefined>(
    (names, word) => (names && budget.take(names.length) ? withWord(index, names, word) : NO_NAMES),
    rarest === undefined ? undefined : index.postings(rarest),
  )
}

const withWord = (index: NameIndex, names: Uint32Array, word: number) =>
  names.filter((name) => index.hasWord(name, word))

/** Searching a name for a word takes about as long as visiting this many postings. */
const SEARCHED_NAME_COST = 8

/**
 * Adds up contributions term by term, highest weight first, and returns the number of names with a sum. A name without
 * a sum is skipped once the remaining terms cannot lift it to `similarityMin`. When all of them are skipped, the names
 * with a sum are searched for the word instead. Search is slower without either (benchmark row `search-million`).
 */
function accumulate(
  index: NameIndex,
  query: NameQuery,
  { accumulator, limits: { similarityMin, budget } }: { accumulator: Accumulator; limits: PoolLimits },
): number {
  const { sums, lastTerms } = accumulator
  const { nameWeights } = index
  // One level lower, because bounds are rounded up.
  const boundMin = Math.max(similarityMin - 1 / BOUND_LEVELS, Number.MIN_VALUE)
  let touched = 0
  const addTo = (names: Uint32Array, amount: number, weightMax: number) => {
    const { term } = accumulator
    for (let at = 0; at < names.length; at += 1) {
      const name = names[at]!
      const sum = sums[name]!
      if (sum === 0) {
        if (nameWeights[name]! > weightMax) continue
        accumulator.touched[touched++] = name
      } else if (lastTerms[name] === term) continue
      lastTerms[name] = term
      sums[name] = sum + amount
    }
  }
  const terms = query.terms
    .toSorted((one, other) => other.weight - one.weight)
    .map((term) => listContributions(index, term))
  let remaining = terms.reduce((sum, [largest]) => sum + (largest?.amount ?? 0), 0)
  for (const split of query.splits) {
    accumulator.term += 1
    addTo(findAdjacent(index, split.parts, budget), splitContribution(index, split), Number.POSITIVE_INFINITY)
  }
  for (const contributions of terms) {
    remaining -= contributions[0]?.amount ?? 0
    accumulator.term += 1
    for (const { word, amount } of contributions) {
      const weightMax = (amount + remaining) / boundMin - query.totalWeight
      const postings = index.postings(word)
      // The weight of a name is at least that of each of its words.
      const isSearched = index.weights[word]! > weightMax && touched * SEARCHED_NAME_COST < postings.length
      if (!budget.take(isSearched ? touched * SEARCHED_NAME_COST : postings.length)) return touched
      const known = accumulator.touched.subarray(0, touched)
      addTo(isSearched ? known.filter((name) => index.hasWord(name, word)) : postings, amount, weightMax)
    }
  }
  return touched
}

/** Largest first, because only the first contribution of a term counts for a name. */
function listContributions(index: NameIndex, { weight, similar }: NameQuery['terms'][number]) {
  return similar
    .map(({ word, similarity }) => ({ word, amount: similarity * (weight + index.weights[word]!) }))
    .toSorted((one, other) => other.amount - one.amount)
}

function splitContribution(index: NameIndex, { weight, parts, similarity }: NameQuery['splits'][number]): number {
  return similarity * (weight + index.weights[parts[0]]! + index.weights[parts[1]]!)
}

/** The names that contain the first word directly before the second. None when the budget is exceeded. */
function findAdjacent(index: NameIndex, parts: readonly [number, number], budget: OperationBudget): Uint32Array {
  const [before, after] = parts.map((word) => index.postings(word)) as [Uint32Array, Uint32Array]
  const rarer = before.length < after.length ? before : after
  if (!budget.take(rarer.length)) return NO_NAMES
  return rarer.filter((name) => index.hasRun(name, parts))
}

const NO_NAMES = new Uint32Array()

/** Counting sort by bound: names that do not fit into the pool are never sorted. */
function selectHighestBounds(
  index: NameIndex,
  query: NameQuery,
  { accumulator, touched, limits }: { accumulator: Accumulator; touched: number; limits: PoolLimits },
): CandidatePool {
  const { similarityMin, namesMax, accepts } = limits
  const levelMin = Math.floor(similarityMin * BOUND_LEVELS)
  const counts = new Uint32Array(BOUND_LEVELS + 2)
  const levels = new Uint16Array(touched)
  for (let at = 0; at < touched; at += 1) {
    const name = accumulator.touched[at]!
    const bound = accumulator.sums[name]! / (query.totalWeight + index.nameWeights[name]!)
    const level = Math.min(BOUND_LEVELS, Math.ceil(bound * BOUND_LEVELS))
    if (level < levelMin || !accepts(name)) continue
    levels[at] = level + 1
    counts[level]! += 1
  }
  const positions = new Uint32Array(BOUND_LEVELS + 2)
  for (let level = BOUND_LEVELS; level >= 0; level -= 1) positions[level] = positions[level + 1]! + counts[level + 1]!
  const names = new Uint32Array(Math.min(namesMax, positions[0]! + counts[0]!))
  const bounds = new Float64Array(names.length)
  let excludedBound = 0
  for (let at = 0; at < touched; at += 1) {
    const level = levels[at]! - 1
    if (level < 0) continue
    const position = positions[level]!++
    const bound = level / BOUND_LEVELS
    if (position >= namesMax) excludedBound = Math.max(excludedBound, bound)
    else {
      names[position] = accumulator.touched[at]!
      bounds[position] = bound
    }
  }
  return { names, bounds, excludedBound }
}
