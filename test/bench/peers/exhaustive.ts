/**
 * The truth that recall is measured against: every name of the register measured with the product's own similarity, none
 * left out for speed. It shares the product's view of which words are alike; what it tests is that no name is overlooked.
 */
import { equalityOf, readForSimilarity, readName } from '../../../agent/matching/equality.ts'
import { SIMILARITY_MIN } from '../../../agent/matching/find.ts'
import { nameScore } from '../../../agent/matching/score.ts'
import { similarityTo } from '../../../agent/matching/similarity.ts'
import { namesOf } from '../../../agent/skills/names.ts'
import type { Shelf } from '../../../agent/skills/skill.ts'
import { readQuery } from '../../../store/index/query.ts'
import { RANKED, type OpenContender } from './contender.ts'

/** Only a name so alike can be equal, and is worth the comparison. */
const MAY_BE_EQUAL_MIN = 0.9

export function exhaustiveOf({ dataset }: Shelf): OpenContender {
  return async (companies) => {
    if (!dataset) throw new Error('There is no dataset')
    const index = namesOf(dataset.snapshot)
    const legalNames = new Map(companies.map(({ number, name }) => [number, name]))
    return {
      name: 'every name measured',
      top(text) {
        const asked = readName(text)
        const { core, suffix } = readForSimilarity(text)
        const measure = similarityTo(index, readQuery(index, core), suffix)
        const scored: { number: string; score: number }[] = []
        for (let name = 0; name < index.size; name += 1) {
          const { similarity } = measure(name)
          if (similarity < SIMILARITY_MIN.beside_equal) continue
          const number = index.companyNumber(name)
          const legalName = similarity < MAY_BE_EQUAL_MIN ? undefined : legalNames.get(number)
          const equality = legalName === undefined ? undefined : equalityOf(asked, legalName)
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
