/** The register words that each word of a query can match, and their weights. */
import type { SimilarWord } from './dictionary.ts'
import type { NameIndex } from './name-index.ts'
import type { OperationBudget } from './operation-budget.ts'

/** Similarity of words that are written together in one name and apart in the other. */
export const JOINED_FACTOR = 0.97
/** Single letters occur in too many names. */
const PART_LETTERS_MIN = 2
/** Repetitions of a word that are searched. More only take time; a few are needed, because "Ha Ha Ha" is a name. */
const SAME_WORDS_MAX = 4

/** One query word, or two adjacent ones, that can match one word of a name. */
interface QueryTerm {
  /** Positions in the query, first and last. */
  first: number
  last: number
  weight: number
  similar: readonly SimilarWord[]
}

/** A query word that can match two adjacent words of a name. */
interface QuerySplit {
  position: number
  weight: number
  parts: readonly [number, number]
  similarity: number
}

export interface NameQuery {
  readonly words: readonly string[]
  readonly totalWeight: number
  readonly terms: readonly QueryTerm[]
  readonly splits: readonly QuerySplit[]
}

export function toQuery(index: NameIndex, words: readonly string[], similar: readonly SimilarWord[][]): NameQuery {
  const terms = similar.map((each, at) => ({ first: at, last: at, weight: queryWeight(index, each), similar: each }))
  return { words, totalWeight: terms.reduce((sum, { weight }) => sum + weight, 0), terms, splits: [] }
}

/** When the budget is exceeded, words have fewer spelling variants. */
export function analyseQuery(index: NameIndex, words: readonly string[], budget: OperationBudget): NameQuery {
  const known = new Map<string, SimilarWord[]>()
  for (const word of words) if (!known.has(word)) known.set(word, index.dictionary.findSimilar(word, budget))
  const similar = words.map((word) => known.get(word)!)
  const query = toQuery(index, words, similar)
  const searched = query.terms.filter(({ first }) => countBefore(words, first) < SAME_WORDS_MAX)
  return {
    ...query,
    terms: [...searched, ...joinWords(index, query, budget)],
    splits: searched.flatMap(({ first, weight }) => splitWord(index, words[first]!, first, weight)),
  }
}

function countBefore(words: readonly string[], position: number): number {
  return words.slice(0, position).filter((word) => word === words[position]).length
}

/** An unknown word gets the lowest weight of its most similar words. */
function queryWeight(index: NameIndex, similar: readonly SimilarWord[]): number {
  const best = similar[0]?.similarity
  if (best === undefined) return index.unknownWeight
  return Math.min(...similar.filter(({ similarity }) => similarity === best).map(({ word }) => index.weights[word]!))
}

/** Adjacent query words that may be one word. A space in place of a letter counts as one more edit. */
function joinWords(index: NameIndex, { words, terms: single }: NameQuery, budget: OperationBudget): QueryTerm[] {
  const terms: QueryTerm[] = []
  for (let first = 0; first + 1 < words.length; first += 1) {
    const joined = words[first]! + words[first + 1]!
    if (countBefore(words, first) >= SAME_WORDS_MAX) continue
    const isKnown = [words[first]!, words[first + 1]!].every((word) => index.dictionary.find(word) !== undefined)
    const similar = isKnown ? index.dictionary.findExact(joined) : index.dictionary.findSimilar(joined, budget)
    if (similar.length === 0) continue
    terms.push({
      first,
      last: first + 1,
      weight: single[first]!.weight + single[first + 1]!.weight,
      similar: similar.map(({ word, similarity }) => ({ word, similarity: similarity * JOINED_FACTOR })),
    })
  }
  return terms
}

/** Query words that may be two words. A letter in place of the space counts as one more edit. */
function splitWord(index: NameIndex, word: string, position: number, weight: number): QuerySplit[] {
  const splits: QuerySplit[] = []
  for (let at = PART_LETTERS_MIN; at <= word.length - PART_LETTERS_MIN; at += 1) {
    const before = index.dictionary.find(word.slice(0, at))
    if (before === undefined) continue
    for (const between of [0, 1]) {
      if (word.length - at - between < PART_LETTERS_MIN) continue
      const after = index.dictionary.find(word.slice(at + between))
      if (after === undefined) continue
      const similarity = JOINED_FACTOR * (1 - between / word.length)
      splits.push({ position, weight, parts: [before, after], similarity })
    }
  }
  return splits
}
