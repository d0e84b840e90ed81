/** Initials: which a name has, and that the index finds every name that has them. */
import { expect } from 'chai'
import fc from 'fast-check'
import { initialsOf } from '../../../store/index/initials.ts'
import { OperationBudget } from '../../../store/index/operation-budget.ts'
import { anyName, buildIndex, unlimited, wordsOf } from '../../support/names.ts'

describe('initials', () => {
  const cases: [words: string, initials: string[]][] = [
    ['electricity supply board', ['esb']],
    ['bank of cork city', ['bocc', 'bcc']],
    ['house of fraser', ['hof']],
    ['of the', []],
    ['two words', []],
    ['a b c d e f g h', ['abcdefgh']],
    ['a b c d e f g h i', []],
  ]
  for (const [words, expected] of cases) {
    it(`[12.13] of ${words} are ${expected.join(' and ') || 'none'}`, () => {
      expect(initialsOf(words.split(' '))).to.deep.equal(expected)
    })
  }

  it('[12.13] are found in every name that has them, and in no other', () => {
    const initials = fc.stringMatching(/^[kcfhgpisnta]{3,5}$/)
    fc.assert(
      fc.property(fc.array(anyName, { minLength: 1, maxLength: 30 }), initials, fc.nat(29), (names, other, chosen) => {
        const index = buildIndex(names)
        const own = initialsOf(wordsOf(index, chosen % names.length))[0] ?? other
        for (const each of [other, own]) {
          const expected = [...names.keys()].filter((name) => initialsOf(wordsOf(index, name)).includes(each))
          expect(index.namesWithInitials(each, unlimited())).to.deep.equal(expected)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('[12.9] are looked up within a budget', () => {
    const index = buildIndex(['ELECTRICITY SUPPLY BOARD'])
    expect(index.namesWithInitials('esb', new OperationBudget(20))).to.deep.equal([0])
    expect(index.namesWithInitials('esb', new OperationBudget(19))).to.deep.equal([])
  })
})
