/**
 * The reference ranking for recall: measures every name of the register with the product's own similarity. It checks that
 * the index overlooks no name; it does not check the similarity itself.
 */
import { exactMatchType, parseForSimilarity, parseQueryName } from '../../../agent/matching/equality.ts'
import { SIMILARITY_MIN } from '../../../agent/matching/find.ts'
import { nameScore } from '../../../agent/matching/score.ts'
import { similarityMeasure } from '../../../agent/matching/similarity.ts'
import { cachedNameIndex } from '../../../agent/skills/name-index-cache.ts'
import type { SkillContext } from '../../../agent/skills/skill.ts'
import { OperationBudget } from '../../../store/index/operation-budget.ts'
import { analyseQuery } from '../../../store/index/query.ts'
import { RANKED, type OpenContender } from './contender.ts'

const unlimited = () => new OperationBudget(Number.POSITIVE_INFINITY)

/** Names below this similarity are never equal, so the comparison is skipped. */
const EQUAL_SIMILARITY_MIN = 0.9

export function exhaustiveOf({ dataset }: SkillContext): OpenContender {
  return async (companies) => {
    if (!dataset) throw new Error('The context has no dataset')
    const index = cachedNameIndex(dataset.snapshot)
    const legalNames = new Map(companies.map(({ number, name }) => [number, name]))
    return {
      name: 'exhaustive scan',
      top(text) {
        const asked = parseQueryName(text)
        const { core, suffix } = parseForSimilarity(text)
        const measure = similarityMeasure(index, analyseQuery(index, core, unlimited()), {
          suffix,
          budget: unlimited(),
        })
        const scored: { number: string; score: number }[] = []
        for (let name = 0; name < index.size; name += 1) {
          const { similarity } = measure(name)
          if (similarity < SIMILARITY_MIN.always) continue
          const number = index.companyNumber(name)
          const legalName = similarity < EQUAL_SIMILARITY_MIN ? undefined : legalNames.get(number)
          const equality = legalName === undefined ? undefined : exactMatchType(asked, legalName)
          scored.push({ number, score: nameScore(equality ?? 'fuzzy_name', similarity) })
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
