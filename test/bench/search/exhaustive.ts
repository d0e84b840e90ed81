/**
 * The reference ranking for recall: measures every name of the register with the product's own similarity. It checks
 * that the index overlooks no name; it does not check the similarity itself.
 */
import { doubtOf, findEqualNames } from '../../../agent/answer/search/equal-names.ts'
import { parseQueryName } from '../../../agent/operation/typed-name.ts'
import { nameScore } from '../../../agent/answer/search/candidate.ts'
import { cachedNameIndex } from '../../../agent/answer/registers.ts'
import { openQueryBudgets } from '../../../store/index/operation-budget.ts'
import type { Snapshot } from '../../../store/dataset/snapshot.ts'
import { searchMeasure } from '../../support/search-similarity.ts'
import { RANKED } from './contender.ts'

/** The function returns the numbers of the ten best companies for a query, and of all that tie with the tenth. */
export function exhaustiveOf({ dataset: { snapshot } }: { dataset: { snapshot: Snapshot } }) {
  const index = cachedNameIndex(snapshot)
  return (text: string): string[] => {
    const limits = { accepts: () => true, budgets: openQueryBudgets() }
    const query = parseQueryName(text)
    const register = { snapshot, names: index }
    const equal = findEqualNames(register, query, query.whole, limits)
    const measure = searchMeasure(index, query.similar, doubtOf(register, query))
    const measured = Array.from({ length: index.size }, (_, name) => ({ name, ...measure(name) }))
    const isAlone = equal.size === 0 && measured.every(({ isContaining }) => !isContaining)
    const scored = measured.flatMap(({ name, similarity }) => {
      const exact = equal.get(name)?.exact
      const found = similarity(isAlone)
      if (exact === undefined && found === 0) return []
      return [{ number: index.companyNumber(name), score: nameScore(exact ?? 'fuzzy_name', found) }]
    })
    const least = scored.toSorted((one, other) => other.score - one.score)[RANKED - 1]?.score ?? 0
    return scored.filter(({ score }) => score >= least).map(({ number }) => number)
  }
}
