/** Name similarity: rare words weigh more, and a name of a possibly different company stays below a match. */
import { expect } from 'chai'
import fc from 'fast-check'
import { similarityMeasure } from '../../../../agent/answer/search/similarity.ts'
import { parseName } from '../../../../store/index/normalise-name.ts'
import type { NameIndex } from '../../../../store/index/name-index.ts'
import { analyseQuery } from '../../../../store/index/query.ts'
import { editDistance, toCodeUnits } from '../../../../store/index/spelling.ts'
import { anyName, buildIndex, unlimited } from '../../../support/names.ts'

/** 850 times this and 120 for all evidence is 900, the score of a match. */
const MATCH_WITH_EVIDENCE = 780 / 850

function compare(index: NameIndex, query: string, name = 0) {
  const { core, suffix } = parseName(query)
  return similarityMeasure(index, analyseQuery(index, core, unlimited()), { suffix, budget: unlimited() })(name)
}

/** The similarity of a query name to a registered name. */
const similarity = (query: string, registered: string) => compare(buildIndex([registered]), query).similarity

describe('the similarity of names', () => {
  const different: [string, string][] = [
    ['KERRY II LIMITED', 'KERRY III LIMITED'],
    ['ANYDAY POWER LIMITED', 'POWER ANYDAY LIMITED'],
  ]
  for (const [query, registered] of different) {
    it(`[12.7] is too low for a match with evidence for ${query} and ${registered}`, () => {
      expect(similarity(query, registered)).to.be.below(MATCH_WITH_EVIDENCE)
      expect(similarity(registered, query)).to.be.below(MATCH_WITH_EVIDENCE)
    })
  }

  it('[12.2] is too low for a match with a word without counterpart, a weak pair or another legal form', () => {
    let checked = 0
    fc.assert(
      fc.property(fc.array(anyName, { minLength: 1, maxLength: 30 }), anyName, (register, query) => {
        const index = buildIndex(register)
        for (const [name, registered] of register.entries()) {
          const isOther =
            haveOtherForms(query, registered) ||
            hasUnpairedWord(query, registered) ||
            hasUnpairedWord(registered, query)
          if (!isOther) continue
          checked += 1
          expect(compare(index, query, name).similarity, `${query} / ${registered}`).to.be.below(MATCH_WITH_EVIDENCE)
        }
      }),
      { numRuns: 300 },
    )
    expect(checked).to.be.above(1000)
  })
})

function haveOtherForms(one: string, other: string): boolean {
  const forms = [parseName(one).suffix, parseName(other).suffix]
  return !forms.includes('') && forms[0] !== forms[1]
}

/** Whether a word of one name has no counterpart in the other: not joined, split, abbreviated or misspelt. */
function hasUnpairedWord(one: string, other: string): boolean {
  const words = parseName(other).core
  const letters = words.join('')
  const hasCounterpart = (word: string) =>
    letters.includes(word) ||
    words.some((each) => word.includes(each) || SAME_MEANING.has(`${word} ${each}`)) ||
    words.some(
      (each) =>
        editDistance(toCodeUnits(word), toCodeUnits(each), 3) <= Math.floor(Math.max(word.length, each.length) / 4),
    )
  return parseName(one).core.some((word) => !hasCounterpart(word))
}

const SAME_MEANING = new Set(
  ['international intl', 'saint st', 'street st', '2 two', '2 ii', 'two ii', 'and n'].flatMap((pair) => [
    pair,
    pair.split(' ').toReversed().join(' '),
  ]),
)
