/**
 * Ways to divide the letters of a search into words: as written, with adjacent words joined, or with words split.
 * Spelling variants and abbreviations are not applied. The last word may be a prefix.
 */
import { intersectAll } from './candidates.ts'
import type { SimilarWord } from './dictionary.ts'
import type { NameIndex } from './name-index.ts'
import type { OperationBudget } from './operation-budget.ts'
import { JOINED_FACTOR, toQuery, type NameQuery } from './query.ts'
import { segmentWord } from './segments.ts'

/** Fewer letters begin too many words. After another word, fewer letters are enough. */
const PREFIX_LETTERS_MIN = { alone: 3, afterWord: 2 }
/** Similarity of a prefix to a completion of it. A completion by few letters is more similar. */
const COMPLETION_SIMILARITY = { min: 0.8, max: 0.95 }
/** Operations of adding a completion. */
const OPERATIONS_PER_COMPLETION = 40
/** Listing more completions takes longer than looking for them in the names with the other words. */
const COMPLETIONS_MANY = 1_000
/** Operations of looking for completions in a name. */
const OPERATIONS_PER_NAME = 20
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
  const similarTo = (read: readonly string[], position: number) =>
    position === read.length - 1 && options.isOpenEnded
      ? withCompletions(index, read, options.budget)
      : dictionary.findExact(read[position]!)
  return readings.slice(0, READINGS_MAX).flatMap(({ words: read, splits }, at) => {
    const similar = read.map((_, position) => similarTo(read, position))
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

/**
 * The last word and the words that begin with it. If these are many, only those of names that have the words before it.
 */
function withCompletions(index: NameIndex, words: readonly string[], budget: OperationBudget): SimilarWord[] {
  const { dictionary } = index
  const prefix = words.at(-1)!
  const found = dictionary.findExact(prefix)
  const lettersMin = words.length > 1 ? PREFIX_LETTERS_MIN.afterWord : PREFIX_LETTERS_MIN.alone
  if (prefix.length < lettersMin) return found
  const all = dictionary.withPrefix(prefix)
  const isMany = words.length > 1 && all.length > COMPLETIONS_MANY
  const completions = isMany ? listCompletionsBeside(index, words, budget) : all
  if (!budget.take(completions.length * OPERATIONS_PER_COMPLETION)) return found
  const { min, max } = COMPLETION_SIMILARITY
  const [exact] = found
  for (const word of completions) {
    const similarity = min + (max - min) * (prefix.length / dictionary.length(word))
    if (word !== exact?.word) found.push({ word, similarity })
  }
  return found.toSorted((one, other) => other.similarity - one.similarity || one.word - other.word)
}

/** The words that begin with the last word, in names that have all words before it. */
function listCompletionsBeside(index: NameIndex, words: readonly string[], budget: OperationBudget): Uint32Array {
  const before = words.slice(0, -1).map((word) => index.dictionary.find(word))
  if (before.includes(undefined)) return NO_WORDS
  const names = intersectAll(
    before.map((word) => index.postings(word!)),
    budget,
  )
  if (names === undefined || !budget.take(names.length * OPERATIONS_PER_NAME)) return NO_WORDS
  const begins = index.dictionary.prefixFilter(words.at(-1)!)
  const found = new Set<number>()
  for (const name of names) for (const word of index.words(name)) if (begins(word)) found.add(word)
  return Uint32Array.from(found).toSorted()
}

const NO_WORDS = new Uint32Array()
