/** A name that is asked for, read against a register: what each of its words may stand for there, and what it tells. */
import type { SimilarWord } from './dictionary.ts'
import type { NameIndex } from './name-index.ts'

/** Words written together or apart count nearly as much as the same words. */
const JOINED_FACTOR = 0.97
/** The shortest part that a word is taken apart into; single letters stand in too many names. */
const PART_LETTERS_MIN = 2

/** A word counts so often in a query at most; more of the same only takes time. "Ha Ha Ha" is a name. */
const SAME_WORDS_MAX = 4

/** One or two neighbouring words of the query that together may stand for one word of a name. */
export interface QueryTerm {
  /** Places in the query, first and last. */
  first: number
  last: number
  weight: number
  similar: readonly SimilarWord[]
}

/** A word of the query that two neighbouring words of a name may have been written together as. */
export interface QuerySplit {
  place: number
  weight: number
  parts: readonly [number, number]
  similarity: number
}

export interface Query {
  readonly words: readonly string[]
  /** By place. */
  readonly weights: readonly number[]
  readonly totalWeight: number
  readonly terms: readonly QueryTerm[]
  readonly splits: readonly QuerySplit[]
}

export function readQuery(index: NameIndex, words: readonly string[]): Query {
  const known = new Map<string, SimilarWord[]>()
  for (const word of words) if (!known.has(word)) known.set(word, index.dictionary.similar(word))
  const similar = words.map((word) => known.get(word)!)
  const weights = similar.map((each) => weightOf(index, each))
  const terms = similar
    .map((each, place) => ({ first: place, last: place, weight: weights[place]!, similar: each }))
    .filter(({ first }) => timesBefore(words, first) < SAME_WORDS_MAX)
  return {
    words,
    weights,
    totalWeight: weights.reduce((sum, weight) => sum + weight, 0),
    terms: [...terms, ...joinedTerms(index, words, weights)],
    splits: terms.flatMap(({ first, weight }) => splitsOf(index, words[first]!, first, weight)),
  }
}

/** How often the word at a place has come up before. */
function timesBefore(words: readonly string[], place: number): number {
  return words.slice(0, place).filter((word) => word === words[place]).length
}

/** A word that no name holds weighs what the likeliest word weighs that it may be a misspelling of. */
function weightOf(index: NameIndex, similar: readonly SimilarWord[]): number {
  const best = similar[0]?.similarity
  if (best === undefined) return index.unknownWeight
  return Math.min(...similar.filter(({ similarity }) => similarity === best).map(({ word }) => index.weights[word]!))
}

/** Neighbours that were written apart; a space that took a letter's place is an edit more. */
function joinedTerms(index: NameIndex, words: readonly string[], weights: readonly number[]): QueryTerm[] {
  const terms: QueryTerm[] = []
  for (let first = 0; first + 1 < words.length; first += 1) {
    const joined = words[first]! + words[first + 1]!
    if (timesBefore(words, first) >= SAME_WORDS_MAX) continue
    const isKnown = [words[first]!, words[first + 1]!].every((word) => index.dictionary.find(word) !== undefined)
    const similar = isKnown ? index.dictionary.exactly(joined) : index.dictionary.similar(joined)
    if (similar.length === 0) continue
    terms.push({
      first,
      last: first + 1,
      weight: weights[first]! + weights[first + 1]!,
      similar: similar.map(({ word, similarity }) => ({ word, similarity: similarity * JOINED_FACTOR })),
    })
  }
  return terms
}

/** Two words that were written together; a letter that took the space's place is an edit more. */
function splitsOf(index: NameIndex, word: string, place: number, weight: number): QuerySplit[] {
  const splits: QuerySplit[] = []
  for (let at = PART_LETTERS_MIN; at <= word.length - PART_LETTERS_MIN; at += 1) {
    const before = index.dictionary.find(word.slice(0, at))
    if (before === undefined) continue
    for (const between of [0, 1]) {
      if (word.length - at - between < PART_LETTERS_MIN) continue
      const after = index.dictionary.find(word.slice(at + between))
      if (after === undefined) continue
      const similarity = JOINED_FACTOR * (1 - between / word.length)
      splits.push({ place, weight, parts: [before, after], similarity })
    }
  }
  return splits
}
