/** The similarity of any name in a search, without candidate selection: the reference for tests and benchmarks. */
import { SIMILARITY_MIN, UNCERTAIN_MAX } from '../../agent/matching/find.ts'
import { corrected, readingMeasure } from '../../agent/matching/search-similarity.ts'
import { similarityMeasure } from '../../agent/matching/similarity.ts'
import type { NameIndex } from '../../store/index/name-index.ts'
import { analyseQuery } from '../../store/index/query.ts'
import { listReadings } from '../../store/index/readings.ts'
import type { ParsedName } from '../../store/index/suffixes.ts'
import { unlimited } from './names.ts'

/** `measured` is the similarity that a resolution uses. */
export function searchMeasure(
  index: NameIndex,
  { core, suffix }: ParsedName,
): (name: number) => { similarity: number; measured: number } {
  const options = { suffix, budget: unlimited() }
  const readings = listReadings(index, core, { isOpenEnded: suffix === '', budget: unlimited() })
  const measures = readings.map((reading) => readingMeasure(index, reading, options))
  const measure = similarityMeasure(index, analyseQuery(index, core, unlimited()), options)
  return (name) => {
    const { similarity: uncapped, isUncertain } = measure(name)
    const measured = isUncertain ? Math.min(uncapped, UNCERTAIN_MAX) : uncapped
    for (const each of measures) {
      const similarity = each(name)
      if (similarity > 0) return { similarity, measured }
    }
    return { similarity: uncapped < SIMILARITY_MIN.always ? 0 : corrected(uncapped), measured }
  }
}
