/** The similarity of any name in a search, without candidate selection: the reference for tests and benchmarks. */
import { SIMILARITY_MIN } from '../../agent/answer/search/find-companies.ts'
import { containedMeasure, correctedScale, similarityMeasure } from '../../agent/answer/search/similarity.ts'
import type { NameIndex } from '../../store/index/name-index.ts'
import { analyseQuery } from '../../store/index/query.ts'
import { findContainedWords } from '../../store/index/containing.ts'
import type { ParsedName } from '../../store/index/suffixes.ts'
import { unlimited } from './names.ts'

export interface SearchSimilarity {
  /** Whether the name contains every word of the query. */
  isContaining: boolean
  /** The similarity of a search; `isAlone` states that no name of the search is equal or contains every word. */
  similarity: (isAlone: boolean) => number
  /** The similarity of a resolution. */
  resolved: number
}

/** `isDoubtful`: whether the query can mean another company than a similar one. */
export function searchMeasure(
  index: NameIndex,
  { core, suffix }: ParsedName,
  isDoubtful?: (name: number) => boolean,
): (name: number) => SearchSimilarity {
  const options = { suffix, isDoubtful, budget: unlimited() }
  const contained = findContainedWords(index, core, { isOpenEnded: suffix === '', budget: unlimited() })
  const containing = contained && containedMeasure(index, contained, options)
  const query = analyseQuery(index, core, unlimited())
  const measure = similarityMeasure(index, query, options)
  const measureResolved = similarityMeasure(index, query, { ...options, isLenient: true })
  return (name) => {
    const { similarity: measured } = measure(name)
    const { similarity: resolved } = measureResolved(name)
    const found = containing?.(name) ?? 0
    if (found > 0) return { isContaining: true, similarity: () => found, resolved }
    const isCandidate = measured >= SIMILARITY_MIN.always
    const similarity = (isAlone: boolean) => (isCandidate ? correctedScale({ isAlone })(measured) : 0)
    return { isContaining: false, similarity, resolved }
  }
}
