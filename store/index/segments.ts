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

interface Segmentation {
  parts: readonly string[]
  /** The sum of the weights of the parts. Common words cost less, so "the" is preferred to "t" and "he". */
  cost: number
}

/** The splits with the lowest cost, lowest first. Every split has at least two parts. */
export function segmentWord(
  index: NameIndex,
  word: string,
  { splitsMax, budget }: { splitsMax: number; budget: OperationBudget },
): (readonly string[])[] {
  const { length } = word
  if (length < SPLIT_LETTERS_MIN || length > SPLIT_LETTERS_MAX) return []
  if (!budget.take(((length * (length + 1)) / 2) * OPERATIONS_PER_LOOKUP)) return []
  /** By position, the best splits of the letters before it. */
  const best: Segmentation[][] = [[{ parts: [], cost: 0 }]]
  for (let end = 1; end <= length; end += 1) {
    const found: Segmentation[] = []
    for (let start = 0; start < end; start += 1) {
      const before = best[start]!
      if (before.length === 0 || (start === 0 && end === length)) continue
      const part = word.slice(start, end)
      const number = index.dictionary.find(part)
      if (number === undefined) continue
      const weight = index.weights[number]!
      for (const { parts, cost } of before)
        if (parts.length < PARTS_MAX) found.push({ parts: [...parts, part], cost: cost + weight })
    }
    best.push(found.toSorted((one, other) => one.cost - other.cost).slice(0, splitsMax))
  }
  return best[length]!.map(({ parts }) => parts)
}
