/**
 * Readings of a search: the words as written, with neighbours joined, and with words split into words of the register. A
 * reading has no spelling variants and no abbreviations. The last word may be a prefix.
 */
import type { SimilarWord } from './dictionary.ts'
import type { NameIndex } from './name-index.ts'
import type { OperationBudget } from './operation-budget.ts'
import { JOINED_FACTOR, queryWeight, type NameQuery } from './query.ts'
import { segmentWord } from './segments.ts'

/** Fewer letters begin too many words. After another word, fewer letters are enough. */
const PREFIX_LETTERS_MIN = { alone: 3, afterWord: 2 }
/** Similarity of a prefix to a completion of it. A completion by few letters is more similar. */
const COMPLETION_SIMILARITY = { min: 0.8, max: 0.95 }
/** Operations of adding a completion. */
const OPERATIONS_PER_COMPLETION = 40
/** Splits of a word that are tried. */
const SEGMENTATIONS_MAX = 4
const READINGS_MAX = 16

export interface Reading {
  query: NameQuery
  /** Similarity of the reading to the query: below 1 when words are joined or split. */
  factor: number
  /** Runs of words that must be next to each other in the name, because the query has them as one word. */
  runs: readonly (readonly number[])[]
}

interface ReadingOptions {
  /** Whether the last word may be a prefix. */
  isOpenEnded: boolean
  budget: OperationBudget
}

/** The reading as written comes first. Readings with a word that no name contains are left out. */
export function listReadings(index: NameIndex, words: readonly string[], options: ReadingOptions): Reading[] {
  const { dictionary } = index
  const joined = words.slice(1).map((word, at) => words.toSpliced(at, 2, words[at]! + word))
  const readings: WordReading[] = [
    { words, splits: [] },
    ...joined.flatMap((read, at) => (dictionary.find(read[at]!) === undefined ? [] : [{ words: read, splits: [] }])),
    ...listSplitReadings(index, words, options.budget),
  ]
  /** Most readings end in the same word, and a prefix can have thousands of completions. */
  const lastWords = new Map<string, SimilarWord[]>()
  const similarTo = (word: string, isLast: boolean) => {
    if (!isLast || !options.isOpenEnded) return dictionary.findExact(word)
    const lettersMin = words.length > 1 ? PREFIX_LETTERS_MIN.afterWord : PREFIX_LETTERS_MIN.alone
    if (word.length < lettersMin) return dictionary.findExact(word)
    const known = lastWords.get(word) ?? withCompletions(index, word, options.budget)
    lastWords.set(word, known)
    return known
  }
  return readings.slice(0, READINGS_MAX).flatMap(({ words: read, splits }, at) => {
    const similar = read.map((word, position) => similarTo(word, position === read.length - 1))
    if (similar.some(({ length }) => length === 0)) return []
    const runs = splits.map((parts) => parts.map((part) => dictionary.find(part)!))
    return [{ query: toQuery(index, read, similar), factor: at === 0 ? 1 : JOINED_FACTOR, runs }]
  })
}

interface WordReading {
  words: readonly string[]
  /** The parts of each word that was split. */
  splits: readonly (readonly string[])[]
}

/** Splits all unknown words at once; without unknown words, each word in turn. */
function listSplitReadings(index: NameIndex, words: readonly string[], budget: OperationBudget): WordReading[] {
  const unknown = [...words.keys()].filter((at) => index.dictionary.find(words[at]!) === undefined)
  const splitsOf = (at: number, splitsMax: number) => segmentWord(index, words[at]!, { splitsMax, budget })
  const replace = (replaced: ReadonlyMap<number, readonly string[]>): WordReading => ({
    words: words.flatMap((word, at) => replaced.get(at) ?? [word]),
    splits: [...replaced.values()],
  })
  if (unknown.length === 0)
    return [...words.keys()].flatMap((at) => splitsOf(at, 1).map((parts) => replace(new Map([[at, parts]]))))
  const ranked = unknown.map((at) => splitsOf(at, SEGMENTATIONS_MAX))
  if (ranked.some(({ length }) => length === 0)) return []
  const most = Math.max(...ranked.map(({ length }) => length))
  return Array.from({ length: most }, (_, rank) =>
    replace(new Map(unknown.map((at, which) => [at, ranked[which]![rank] ?? ranked[which]![0]!]))),
  )
}

function toQuery(index: NameIndex, words: readonly string[], similar: readonly SimilarWord[][]): NameQuery {
  const weights = similar.map((each) => queryWeight(index, each))
  return {
    words,
    weights,
    totalWeight: weights.reduce((sum, weight) => sum + weight, 0),
    terms: similar.map((each, at) => ({ first: at, last: at, weight: weights[at]!, similar: each })),
    splits: [],
  }
}

/** The word and the words that begin with it. */
function withCompletions(index: NameIndex, prefix: string, budget: OperationBudget): SimilarWord[] {
  const found = index.dictionary.findExact(prefix)
  const words = index.dictionary.withPrefix(prefix)
  if (!budget.take(words.length * OPERATIONS_PER_COMPLETION)) return found
  const { min, max } = COMPLETION_SIMILARITY
  const [exact] = found
  for (const word of words) {
    const similarity = min + (max - min) * (prefix.length / index.dictionary.length(word))
    if (word !== exact?.word) found.push({ word, similarity })
  }
  return found.toSorted((one, other) => other.similarity - one.similarity || one.word - other.word)
}
