/**
 * The similarity of names in a search. Names are in three ranges: those that contain every word of the query come before
 * those that contain every word in another notation, and these before names that need a correction (contract 12.13).
 */
import type { NameIndex } from '../../store/index/name-index.ts'
import type { OperationBudget } from '../../store/index/operation-budget.ts'
import type { Reading } from '../../store/index/readings.ts'
import type { Suffix } from '../../store/index/suffixes.ts'
import { publishedSimilarity, similarityMeasure } from './similarity.ts'

/** The lowest similarity of each range. The ranges do not overlap; SCORE_DEFINITION states the same values to clients. */
const WRITTEN_MIN = 0.85
const NOTATION_MIN = 0.7
/** The similarity of names whose initials are the query. Lower than that of all other names that are returned. */
export const INITIALS_SIMILARITY = 0.2

/** Names that contain every word, each exactly as written. */
const written = (similarity: number) => publishedSimilarity(WRITTEN_MIN + (1 - WRITTEN_MIN) * similarity)
/** Names that contain every word, with a completion of the last word, or with words joined or split. */
const otherNotation = (similarity: number) =>
  publishedSimilarity(Math.min(NOTATION_MIN + (WRITTEN_MIN - NOTATION_MIN) * similarity, WRITTEN_MIN - 0.0001))
/** All other names. */
export const corrected = (similarity: number) => publishedSimilarity(NOTATION_MIN * similarity)

/** The highest similarity of a name that needs a correction. */
export const CORRECTED_MAX = corrected(1)

/** The similarity for a reading of the query; 0 for a name that does not contain every word of it. */
export function readingMeasure(
  index: NameIndex,
  { query, factor, runs }: Reading,
  options: { suffix: Suffix; budget: OperationBudget },
): (name: number) => number {
  const measure = similarityMeasure(index, query, options)
  return (name) => {
    const { similarity, isQueryCovered, isLiteral } = measure(name)
    if (!isQueryCovered || !runs.every((run) => hasRun(index, name, run))) return 0
    return isLiteral && factor === 1 ? written(similarity) : otherNotation(factor * similarity)
  }
}

/** The highest similarity of a name for a reading, from the upper bound of its measured similarity. */
export function readingBound({ factor }: Reading, bound: number): number {
  return factor === 1 ? written(bound) : otherNotation(factor * bound)
}

function hasRun(index: NameIndex, name: number, run: readonly number[]): boolean {
  const last = index.wordCount(name) - run.length
  for (let at = 0; at <= last; at += 1) if (index.hasWordsAt(name, at, run)) return true
  return false
}
