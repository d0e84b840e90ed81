/**
 * The reference ranking for recall: measures every name of the register with the product's own similarity. It checks that
 * the index overlooks no name; it does not check the similarity itself.
 */
import { findEqualNames } from '../../../agent/matching/equal-names.ts'
import { parseForSimilarity, parseQueryName } from '../../../agent/matching/equality.ts'
import { SIMILARITY_MIN } from '../../../agent/matching/find.ts'
import { nameScore } from '../../../agent/matching/score.ts'
import { similarityMeasure } from '../../../agent/matching/similarity.ts'
import { cachedNameIndex } from '../../../agent/skills/name-index-cache.ts'
import type { SkillContext } from '../../../agent/skills/skill.ts'
import { openQueryBudgets, OperationBudget } from '../../../store/index/operation-budget.ts'
import { analyseQuery } from '../../../store/index/query.ts'
import { RANKED, type OpenContender } from './contender.ts'

const unlimited = () => new OperationBudget(Number.POSITIVE_INFINITY)

export function exhaustiveOf({ dataset }: SkillContext): OpenContender {
  return async () => {
    if (!dataset) throw new Error('The context has no dataset')
    const index = cachedNameIndex(dataset.snapshot)
    return {
      name: 'exhaustive scan',
      top(text) {
        const limits = { accepts: () => true, budgets: openQueryBudgets() }
        const { equal } = findEqualNames({ snapshot: dataset.snapshot, names: index }, parseQueryName(text), limits)
        const { core, suffix } = parseForSimilarity(text)
        const measure = similarityMeasure(index, analyseQuery(index, core, unlimited()), {
          suffix,
          budget: unlimited(),
        })
        const scored: { number: string; score: number }[] = []
        for (let name = 0; name < index.size; name += 1) {
          const exact = equal.get(name)?.exact
          const { similarity } = measure(name)
          if (exact === undefined && similarity < SIMILARITY_MIN.always) continue
          scored.push({ number: index.companyNumber(name), score: nameScore(exact ?? 'fuzzy_name', similarity) })
        }
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
