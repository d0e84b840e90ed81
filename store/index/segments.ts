/** Splits a word into words of the register: "dublinbusservices" into "dublin", "bus", "services". */
import type { NameIndex } from './name-index.ts'
import type { OperationBudget } from './operation-budget.ts'

/** Shorter words are seldom several words. */
const SPLIT_LETTERS_MIN = 6
/** Longer words are not split: the number of lookups grows with the square of the length. */
const SPLIT_LETTERS_MAX = 48
/** Operations of looking up a word. */
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
