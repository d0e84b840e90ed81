/**
 * The reference ranking for recall: measures every name of the register with the product's own similarity. It checks that
 * the index overlooks no name; it does not check the similarity itself.
 */
import { findEqualNames } from '../../../agent/search/equal-names.ts'
import { parseForSimilarity, parseQueryName } from '../../../agent/search/equality.ts'
import { nameScore } from '../../../agent/search/candidate.ts'
import { cachedNameIndex, type SkillContext } from '../../../agent/skills/registers.ts'
import { openQueryBudgets } from '../../../store/index/operation-budget.ts'
import { searchMeasure } from '../../support/search-similarity.ts'
import { RANKED, type OpenContender } from './contender.ts'

export function exhaustiveOf({ dataset }: SkillContext): OpenContender {
  return async () => {
    if (!dataset) throw new Error('The context has no dataset')
    const index = cachedNameIndex(dataset.snapshot)
    return {
      name: 'exhaustive scan',
      top(text) {
        const limits = { accepts: () => true, budgets: openQueryBudgets() }
        const { equal } = findEqualNames({ snapshot: dataset.snapshot, names: index }, parseQueryName(text), limits)
        const measure = searchMeasure(index, parseForSimilarity(text))
        const measured = Array.from({ length: index.size }, (_, name) => ({ name, ...measure(name) }))
        const isAlone = equal.size === 0 && measured.every(({ isContaining }) => !isContaining)
        const scored = measured.flatMap(({ name, similarity }) => {
          const exact = equal.get(name)?.exact
          const found = similarity(isAlone)
          if (exact === undefined && found === 0) return []
          return [{ number: index.companyNumber(name), score: nameScore(exact ?? 'fuzzy_name', found) }]
        })
        return bestAndTies(scored)
      },
      close: async () => undefined,
    }
  }
}

function bestAndTies(scored: { number: string; score: number }[]): string[] {
  const sorted = scored.toSorted((one, other) => other.score - one.score)
  const least = sorted[RANKED - 1]?.score ?? 0
  return sorted.filter(({ score }) => score >= least).map(({ number }) => number)
}
