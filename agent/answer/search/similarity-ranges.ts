/**
 * The similarity of names in a search. Each kind of match has its own range (contract 12.13). The ranges are chosen so
 * that equal scores are right about equally often in every search (docs/accuracy.md).
 */
import type { NameIndex } from '../../../store/index/name-index.ts'
import type { ContainedWords } from '../../../store/index/containing.ts'
import { publishedSimilarity, similarityMeasure } from './similarity.ts'

/** From here, a name has the similarity that was measured. Below it, every kind has a range of its own. */
const MEASURED_MIN = { written: 0.72, otherNotation: 0.95, corrected: 0.72 }
/** The similarity of names whose initials are the query. Lower than that of all other names that are returned. */
export const INITIALS_SIMILARITY = 0.2

/** Names that contain every word, each exactly as written. Below: 0.617 to 0.639. */
function written(similarity: number): number {
  return publishedSimilarity(similarity >= MEASURED_MIN.written ? similarity : 0.617 + 0.03 * similarity)
}

/**
 * Names that contain every word, with a completion of the last word, or with words joined or split. Below: 0.59 to
 * 0.614.
 */
function otherNotation(similarity: number): number {
  return publishedSimilarity(similarity >= MEASURED_MIN.otherNotation ? similarity : 0.59 + 0.025 * similarity)
}

/** All other names. At most 0.533 if other names are equal or contain every word. */
export function correctedScale({ isAlone }: { isAlone: boolean }): (similarity: number) => number {
  return (similarity) => {
    if (similarity < MEASURED_MIN.corrected) return publishedSimilarity(0.7 * similarity)
    return isAlone ? similarity : publishedSimilarity(0.505 + 0.1 * (similarity - MEASURED_MIN.corrected))
  }
}

/** The similarity of a name that contains the words of a search; 0 for any other. */
export function containedMeasure(
  index: NameIndex,
  { query, factor, runs }: ContainedWords,
  options: Parameters<typeof similarityMeasure>[2],
): (name: number) => number {
  const measure = similarityMeasure(index, query, options)
  return (name) => {
    const { similarity, isQueryCovered, isLiteral } = measure(name)
    if (!isQueryCovered || !runs.every((run) => index.hasRun(name, run))) return 0
    return isLiteral && factor === 1 ? written(similarity) : otherNotation(factor * similarity)
  }
}

/** The highest similarity of such a name, from the upper bound of its measured similarity. */
export function containedBound({ factor }: ContainedWords, bound: number): number {
  return factor === 1 ? written(bound) : otherNotation(factor * bound)
}
