/**
 * The words that a name contains if it has all words of a search. A word that no name has is joined with the word
 * beside it, or split. The last word may be a prefix.
 */
import { namesWithAll } from './candidates.ts'
import type { SimilarWord } from './dictionary.ts'
import type { NameIndex } from './name-index.ts'
import type { OperationBudget } from './operation-budget.ts'
import { JOINED_FACTOR, toQuery, type NameQuery } from './query.ts'

/** Fewer letters begin too many words. After another word, fewer letters are enough. */
const PREFIX_LETTERS_MIN = { alone: 3, afterWord: 2 }
/** Similarity of a prefix to a completion of it. A completion by few letters is more similar. */
const COMPLETION_SIMILARITY = { min: 0.8, max: 0.95 }
const OPERATIONS_PER_COMPLETION = 40
/** Listing more completions takes longer than looking for them in the names with the other words. */
const COMPLETIONS_MANY = 1_000
const OPERATIONS_PER_NAME = 20

export interface ContainedWords {
  query: NameQuery
  /** Similarity to the words of the search: below 1 when words are joined or split. */
  factor: number
  /** Runs of words that must be next to each other in the name, because the search has them as one word. */
  runs: readonly (readonly number[])[]
}

/** Undefined if no name can have a word of the search. `isOpenEnded`: whether the last word may be a prefix. */
export function findContainedWords(
  index: NameIndex,
  words: readonly string[],
  { isOpenEnded, budget }: { isOpenEnded: boolean; budget: OperationBudget },
): ContainedWords | undefined {
  const { dictionary } = index
  const read: string[] = []
  const runs: number[][] = []
  const isKnown = (word: string) => dictionary.find(word) !== undefined
  const isPrefix = (at: number) =>
    isOpenEnded && at === words.length - 1 && dictionary.withPrefix(words[at]!).length > 0
  for (let at = 0; at < words.length; at += 1) {
    const [word, next, before] = [words[at]!, words[at + 1], read.at(-1)]
    if (isKnown(word) || isPrefix(at)) read.push(word)
    else if (next !== undefined && isKnown(word + next)) read.push(word + words[(at += 1)]!)
    else if (before !== undefined && isKnown(before + word)) read[read.length - 1] = before + word
    else {
      const parts = segmentWord(index, word, budget)
      read.push(...parts)
      runs.push(parts.map((part) => dictionary.find(part)!))
      if (parts.length === 0) return undefined
    }
  }
  const similar = read.map((word, at) =>
    isOpenEnded && at === read.length - 1 ? withCompletions(index, read, budget) : dictionary.findExact(word),
  )
  if (similar.some(({ length }) => length === 0)) return undefined
  const factor = read.join(' ') === words.join(' ') ? 1 : JOINED_FACTOR
  return { query: toQuery(index, read, similar), factor, runs }
}

/** The last word and its completions. If these are many, only those of names that have the words before it. */
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

function listCompletionsBeside(index: NameIndex, words: readonly string[], budget: OperationBudget): Uint32Array {
  const before = words.slice(0, -1).map((word) => index.dictionary.find(word))
  if (before.includes(undefined)) return NO_WORDS
  const names = namesWithAll(index, before as number[], budget)
  if (names === undefined || !budget.take(names.length * OPERATIONS_PER_NAME)) return NO_WORDS
  const prefix = words.at(-1)!
  const found = new Set<number>()
  for (const name of names)
    for (const word of index.words(name)) if (index.dictionary.begins(word, prefix)) found.add(word)
  return Uint32Array.from(found).toSorted()
}

const NO_WORDS = new Uint32Array()

/** Shorter words are seldom several words. */
const SPLIT_LETTERS_MIN = 6
/** Longer words are not split: the number of lookups grows with the square of the length. */
const SPLIT_LETTERS_MAX = 48
const OPERATIONS_PER_LOOKUP = 100
/** A name of more words is not written without spaces. */
const PARTS_MAX = 8

/** The split with the lowest sum of weights, so "the" is preferred to "t" and "he". Nothing without two parts. */
export function segmentWord(index: NameIndex, word: string, budget: OperationBudget): readonly string[] {
  const { length } = word
  if (length < SPLIT_LETTERS_MIN || length > SPLIT_LETTERS_MAX) return []
  if (!budget.take(((length * (length + 1)) / 2) * OPERATIONS_PER_LOOKUP)) return []
  /** By position, the best split of the letters before it. */
  const best: ({ parts: readonly string[]; cost: number } | undefined)[] = [{ parts: [], cost: 0 }]
  for (let end = 1; end <= length; end += 1) {
    for (let start = 0; start < end; start += 1) {
      const before = best[start]
      if (!before || before.parts.length === PARTS_MAX || (start === 0 && end === length)) continue
      const part = word.slice(start, end)
      const known = index.dictionary.find(part)
      if (known === undefined) continue
      const cost = before.cost + index.weights[known]!
      if (cost < (best[end]?.cost ?? Infinity)) best[end] = { parts: [...before.parts, part], cost }
    }
  }
  return best[length]?.parts ?? []
}
