/**
 * The similarity of a name to a query, from 0 to 1 (docs/accuracy.md): the overlap of words, weighted by inverse
 * document frequency. Factors keep names that may belong to another company below the score of a match.
 */
import { equivalentsOf } from '../../../store/index/equivalents.ts'
import type { NameIndex } from '../../../store/index/name-index.ts'
import type { OperationBudget } from '../../../store/index/operation-budget.ts'
import type { NameQuery } from '../../../store/index/query.ts'
import { isNumeral } from '../../../store/index/spelling.ts'
import type { ContainedWords } from '../../../store/index/containing.ts'

/** A pair of words below this similarity may be two different words, so the names do not match completely. */
const PAIR_SIMILARITY_MIN = 0.8
/** For a word without counterpart or a weak pair. 850 * 0.9 plus all evidence is 885, below the 900 of a match. */
const PARTIAL_FACTOR = 0.9
const OTHER_SUFFIX_FACTOR = 0.9
const OTHER_ORDER_FACTOR = 0.9
const MISSING_SUFFIX_FACTOR = 0.98
/** 1 is reserved for exact matches. */
export const FUZZY_MAX = 0.9999
/** Four decimals are published, and scores are computed from the published value. */
const PRECISION = 10_000

interface NameSimilarity {
  similarity: number
  /** Whether every word of the query has a counterpart. */
  isQueryCovered: boolean
  /** Whether every word of the query is in the name, letter by letter. */
  isLiteral: boolean
}

/** Words of the query and of the name, each from its first to its last position. */
interface Pair {
  first: number
  last: number
  nameFirst: number
  nameLast: number
  similarity: number
  contribution: number
}

/** For each word of the index, the query positions that it can pair with. */
type PairTargets = Map<number, { first: number; last: number; weight: number; similarity: number }[]>

interface MeasureOptions {
  suffix: string
  budget: OperationBudget
  /** Whether the query can mean another company than a similar one. */
  isDoubtful?: ((position: number) => boolean) | undefined
  /** Whether cut words count, and words before a whole name count less (contract 12.22). Such names are doubtful. */
  isLenient?: boolean
}

/**
 * Prepares a query once and returns the function that measures one name of the index. It counts the comparisons of
 * words, and measures correctly even when the budget is exceeded: the caller stops then.
 */
export function similarityMeasure(
  index: NameIndex,
  query: NameQuery,
  { suffix, budget, isDoubtful = () => false, isLenient = false }: MeasureOptions,
): (position: number) => NameSimilarity {
  const targets = findPairTargets(query)
  const cutTerms = isLenient ? listCutTerms(query) : []
  return (position) => {
    const words = index.words(position)
    const possible = listPairs(index, query, { targets, words })
    budget.take(words.length * (1 + query.splits.length + possible.length))
    const whole = choosePairs(possible)
    const weights = query.totalWeight + index.nameWeights[position]!
    const hasCut = isLenient && overlap(whole) >= LENIENT_MIN * weights
    const pairs = hasCut ? choosePairs(listCutPairs(index, query, { cutTerms, words }), whole) : whole
    let paired = 0
    let namePaired = 0
    let isComplete = true
    let isLiteral = true
    for (const pair of pairs) {
      paired += pair.last - pair.first + 1
      namePaired += pair.nameLast - pair.nameFirst + 1
      if (pair.similarity < PAIR_SIMILARITY_MIN) isComplete = false
      if (pair.similarity < 1) isLiteral = false
    }
    const first = pairs[0]?.first ?? 0
    const isQueryCovered = paired === query.words.length
    // Only a lenient measure accepts words of the query before the name.
    const isEnd = isLenient ? first + paired === query.words.length : isQueryCovered
    isComplete = isComplete && isEnd && namePaired === words.length
    const unpairedWeight = isComplete ? weightBefore(query, first) : 0
    const similarity =
      (overlap(pairs) / (weights - unpairedWeight / 2)) *
      (isComplete ? 1 : PARTIAL_FACTOR) *
      (isInOrder(pairs) ? 1 : OTHER_ORDER_FACTOR) *
      suffixFactor(suffix, index.suffixOf(position))
    const isUncertain = () =>
      similarity > UNCERTAIN_FROM &&
      (pairs.length > whole.length ||
        unpairedWeight > 0 ||
        pairs.some((pair) => pair.similarity < 1 && isUncertainPair(index, query, { pair, words })) ||
        isDoubtful(position))
    return {
      similarity: publishedSimilarity(isUncertain() ? compressed(similarity) : similarity),
      isQueryCovered,
      isLiteral: isLiteral && isQueryCovered,
    }
  }
}

/**
 * Names with an uncertain difference are below this: 850 * 0.9165 plus all evidence is 899. Higher similarities are
 * compressed, so that names keep their order.
 */
export const UNCERTAIN_MAX = 0.9165
/** The match of a name that equals a part of the query, while nothing explains the rest. */
export const DOUBTFUL = { matchType: 'fuzzy_name', similarity: UNCERTAIN_MAX } as const
const UNCERTAIN_FROM = 0.9

function compressed(similarity: number): number {
  return UNCERTAIN_FROM + ((similarity - UNCERTAIN_FROM) / (1 - UNCERTAIN_FROM)) * (UNCERTAIN_MAX - UNCERTAIN_FROM)
}

/** Words of fewer letters differ by one letter from many others. */
const CERTAIN_LETTERS_MIN = 5

/**
 * Whether a pair of different words has a number or few letters. Abbreviations and other notations of a number do not
 * count.
 */
function isUncertainPair(
  index: NameIndex,
  query: NameQuery,
  { pair, words }: { pair: Pair; words: Uint32Array },
): boolean {
  const asked = query.words.slice(pair.first, pair.last + 1)
  const named = Array.from(words.subarray(pair.nameFirst, pair.nameLast + 1), (word) => index.dictionary.text(word))
  if ([...asked, ...named].some(isNumeral)) return !isEquivalentPair(asked, named)
  // Only a space differs: the word that is written together has to be long.
  if (asked.join('') === named.join(''))
    return asked.join('').length < CERTAIN_LETTERS_MIN || [...asked, ...named].some(({ length }) => length === 1)
  return [...asked, ...named].some(({ length }) => length < CERTAIN_LETTERS_MIN) && !isEquivalentPair(asked, named)
}

/** Only single words are equivalent. */
function isEquivalentPair(asked: readonly string[], named: readonly string[]): boolean {
  return equivalentsOf(asked.join(' ')).has(named.join(' '))
}

/** Cut words count if the other words have at least this overlap, so they need no search of their own. */
export const LENIENT_MIN = 0.5
/** Shorter words begin too many words. */
const CUT_LETTERS_MIN = 3
const CUT_SIMILARITY = 0.9

/** The terms that can be cut words: one word of enough letters that is no number. */
function listCutTerms({ words, terms }: NameQuery): NameQuery['terms'] {
  return terms.filter(({ first, last }) => {
    const word = words[first]!
    return first === last && word.length >= CUT_LETTERS_MIN && !isNumeral(word)
  })
}

function isLonger({ dictionary }: NameIndex, word: number, beginning: string): boolean {
  return dictionary.begins(word, beginning) && dictionary.length(word) > beginning.length
}

/** Whether a name can become similar by cut words or by words before it. The check costs far less than the measure. */
export function completionCheck(index: NameIndex, query: NameQuery): (position: number) => boolean {
  const known = new Set(query.terms.flatMap(({ similar }) => similar.map(({ word }) => word)))
  const cut = listCutTerms(query).map(({ first }) => query.words[first]!)
  return (position) => {
    const words = index.words(position)
    return (
      words.every((word) => known.has(word)) || words.some((word) => cut.some((each) => isLonger(index, word, each)))
    )
  }
}

/** The pairs of a cut word and a word of the name that it begins. */
function listCutPairs(
  index: NameIndex,
  query: NameQuery,
  { cutTerms, words }: { cutTerms: NameQuery['terms']; words: Uint32Array },
): Pair[] {
  return cutTerms.flatMap(({ first, last, weight }) =>
    Array.from(words).flatMap((word, at) => {
      if (!isLonger(index, word, query.words[first]!)) return []
      const contribution = CUT_SIMILARITY * (weight + index.weights[word]!)
      return [{ first, last, nameFirst: at, nameLast: at, similarity: CUT_SIMILARITY, contribution }]
    }),
  )
}

function overlap(pairs: readonly Pair[]): number {
  let sum = 0
  for (const { contribution } of pairs) sum += contribution
  return sum
}

function weightBefore({ terms }: NameQuery, position: number): number {
  return terms.reduce((sum, { first, last, weight }) => (first === last && first < position ? sum + weight : sum), 0)
}

export function publishedSimilarity(similarity: number): number {
  return Math.floor(Math.min(similarity, FUZZY_MAX) * PRECISION) / PRECISION
}

function findPairTargets({ terms }: NameQuery): PairTargets {
  const targets: PairTargets = new Map()
  for (const { first, last, weight, similar } of terms) {
    for (const { word, similarity } of similar) {
      const known = targets.get(word)
      const target = { first, last, weight, similarity }
      if (known) known.push(target)
      else targets.set(word, [target])
    }
  }
  return targets
}

/** Lists all possible pairs. A query word may also pair with two adjacent words of the name. */
function listPairs(
  index: NameIndex,
  query: NameQuery,
  { targets, words }: { targets: PairTargets; words: Uint32Array },
): Pair[] {
  const pairs: Pair[] = []
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at]!
    const nameWeight = index.weights[word]!
    for (const { first, last, weight, similarity } of targets.get(word) ?? []) {
      const contribution = similarity * (weight + nameWeight)
      pairs.push({ first, last, nameFirst: at, nameLast: at, similarity, contribution })
    }
    for (const { position, weight, parts, similarity } of query.splits) {
      if (word !== parts[0] || words[at + 1] !== parts[1]) continue
      const contribution = similarity * (weight + nameWeight + index.weights[parts[1]]!)
      pairs.push({ first: position, last: position, nameFirst: at, nameLast: at + 1, similarity, contribution })
    }
  }
  return pairs
}

/** Greedy: adds the largest contributions first, each word once. Returns the pairs in query order. */
function choosePairs(pairs: Pair[], known: readonly Pair[] = []): Pair[] {
  if (pairs.length > 1) pairs.sort(byContribution)
  const chosen = [...known]
  for (const pair of pairs) if (!chosen.some((other) => overlaps(pair, other))) chosen.push(pair)
  return chosen.toSorted((one, other) => one.first - other.first)
}

function byContribution(one: Pair, other: Pair): number {
  return other.contribution - one.contribution || one.first - other.first || one.nameFirst - other.nameFirst
}

function overlaps(one: Pair, other: Pair): boolean {
  const inQuery = one.first <= other.last && other.first <= one.last
  const inName = one.nameFirst <= other.nameLast && other.nameFirst <= one.nameLast
  return inQuery || inName
}

function isInOrder(pairs: readonly Pair[]): boolean {
  return pairs.every((pair, at) => at === 0 || pairs[at - 1]!.nameLast < pair.nameFirst)
}

function suffixFactor(querySuffix: string, nameSuffix: string): number {
  if (querySuffix === nameSuffix || querySuffix === '') return 1
  return nameSuffix === '' ? MISSING_SUFFIX_FACTOR : OTHER_SUFFIX_FACTOR
}

// In a search, each kind of match has its own range (contract 12.13). The ranges are chosen so that equal scores are
// right about equally often in every search (docs/accuracy.md).

/** From `measured` on, a name has the similarity that was measured. Below it, every kind has a range of its own. */
const RANGES = {
  /** Names that contain every word, each exactly as written. Below: 0.617 to 0.639. */
  written: { measured: 0.72, first: 0.617, width: 0.03 },
  /** With a completion of the last word, or with words joined or split. Below: 0.59 to 0.614. */
  otherNotation: { measured: 0.95, first: 0.59, width: 0.025 },
  /** All other names, if there are names that are equal or contain every word: 0.505 to 0.533. */
  corrected: { measured: 1, first: 0.433, width: 0.1 },
}
const CORRECTED_MIN = 0.72

function inRange({ measured, first, width }: (typeof RANGES)['written'], similarity: number): number {
  return publishedSimilarity(similarity >= measured ? similarity : first + width * similarity)
}

/** All other names. */
export function correctedScale({ isAlone }: { isAlone: boolean }): (similarity: number) => number {
  return (similarity) => {
    if (similarity < CORRECTED_MIN) return publishedSimilarity(0.7 * similarity)
    return isAlone ? similarity : inRange(RANGES.corrected, similarity)
  }
}

/** The similarity of a name that contains the words of a search; 0 for any other. */
export function containedMeasure(
  index: NameIndex,
  { query, factor, runs }: ContainedWords,
  options: MeasureOptions,
): (position: number) => number {
  const measure = similarityMeasure(index, query, options)
  return (position) => {
    const { similarity, isQueryCovered, isLiteral } = measure(position)
    if (!isQueryCovered || !runs.every((run) => index.hasRun(position, run))) return 0
    return inRange(isLiteral && factor === 1 ? RANGES.written : RANGES.otherNotation, factor * similarity)
  }
}

/** The highest similarity of such a name, from the upper bound of its measured similarity. */
export function containedBound({ factor }: ContainedWords, bound: number): number {
  return inRange(factor === 1 ? RANGES.written : RANGES.otherNotation, factor * bound)
}
