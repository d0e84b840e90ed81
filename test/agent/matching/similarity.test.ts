/** How similar two names are: what tells names apart weighs, and what may be another company's never suffices. */
import { expect } from 'chai'
import fc from 'fast-check'
import { equalityOf, readName } from '../../../agent/matching/equality.ts'
import { similarityTo } from '../../../agent/matching/similarity.ts'
import { parseName } from '../../../store/index/names.ts'
import type { NameIndex } from '../../../store/index/name-index.ts'
import { readQuery } from '../../../store/index/query.ts'
import { edits, lettersOf } from '../../../store/index/spelling.ts'
import { anyName, indexOf } from '../../support/names.ts'

/** What an Eircode and an address lift to 900 from: 780 of 850. */
const LIFTED_TO_MATCH = 780 / 850

/** Names that make the usual words usual. */
const CROWD = [
  ...Array.from({ length: 40 }, (_, each) => `CROWD${'ABCDEFGHIJ'[each % 10]}${'KLMN'[each % 4]} HOLDINGS LIMITED`),
  ...Array.from({ length: 20 }, (_, each) => `MASS${'ABCDEFGHIJ'[each % 10]}${'KLMN'[each % 4]} FOODS LIMITED`),
]

function compare(index: NameIndex, asked: string, name = 0) {
  const { core, suffix } = parseName(asked)
  return similarityTo(index, readQuery(index, core), suffix)(name)
}

/** Of a name that is asked for to one that a register holds. */
const similarity = (asked: string, held: string) => compare(indexOf([held, ...CROWD]), asked).similarity

describe('the similarity of names', () => {
  it('is small where only the usual word is the same', () => {
    expect(similarity('KERRY HOLDINGS LIMITED', 'CORK HOLDINGS LIMITED')).to.be.below(0.3)
    expect(similarity('KERRY HOLDINGS LIMITED', 'KERRY FOODS LIMITED')).to.be.below(0.8)
  })

  it('is more where the rare word is the same than where the usual one is', () => {
    const held = 'KERRY HOLDINGS LIMITED'
    expect(similarity('KERRY FARMS LIMITED', held)).to.be.above(similarity('CORK HOLDINGS LIMITED', held))
  })

  const never: [string, string][] = [
    ['KERRY NO 57 LIMITED', 'KERRY NO 58 LIMITED'],
    ['KERRY II LIMITED', 'KERRY III LIMITED'],
    ['KERRY PHASE2 LIMITED', 'KERRY PHASE3 LIMITED'],
    ['KERRY 2 LIMITED', 'KERRY LIMITED'],
    ['KERRY LIMITED', 'KERRY 2 LIMITED'],
    ['LEASING NO 5 LIMITED', 'LEASING NO 6 LIMITED'],
    ['KERRY FOODS LIMITED', 'KERRY LIMITED'],
    ['KERRY LIMITED', 'KERRY FOODS LIMITED'],
    ['KERRY FOODS LIMITED', 'KERRY FOODS DAC'],
    ['DERRY FOODS LIMITED', 'KERBY FOODS LIMITED'],
    ['AB FOODS LIMITED', 'AC FOODS LIMITED'],
    ['ANYDAY POWER LIMITED', 'POWER ANYDAY LIMITED'],
    ['MH&AM STORES LIMITED', 'AM&MH STORES LIMITED'],
  ]
  for (const [asked, held] of never) {
    it(`is less than evidence can lift to a match for ${asked} and ${held}`, () => {
      expect(similarity(asked, held)).to.be.below(LIFTED_TO_MATCH)
      expect(similarity(held, asked)).to.be.below(LIFTED_TO_MATCH)
    })
  }

  const nearly: [why: string, asked: string, held: string, least: number][] = [
    ['one letter wrong', 'KERRIGAM FOODS LIMITED', 'KERRIGAN FOODS LIMITED', 0.9],
    ['two letters swapped', 'KERRIAGN FOODS LIMITED', 'KERRIGAN FOODS LIMITED', 0.9],
    ['words written together', 'KERRIGANFOODS LIMITED', 'KERRIGAN FOODS LIMITED', 0.9699],
    ['words written apart', 'KERRI GAN FOODS LIMITED', 'KERRIGAN FOODS LIMITED', 0.97],
    ['an abbreviation', 'KERRIGAN INTL LIMITED', 'KERRIGAN INTERNATIONAL LIMITED', 0.95],
    ['a number spelt out', 'KERRIGAN TWO LIMITED', 'KERRIGAN 2 LIMITED', 0.95],
    ['a legal form that the register leaves out', 'KERRIGAN FOODS LIMITED', 'KERRIGAN FOODS', 0.9799],
  ]
  for (const [why, asked, held, least] of nearly) {
    it(`is high, and below 1, with ${why}`, () => {
      expect(similarity(asked, held)).to.be.within(least, 0.9999)
    })
  }

  it('is high with all words in another order, though not for a match', () => {
    expect(similarity('FOODS KERRIGAN LIMITED', 'KERRIGAN FOODS LIMITED')).to.be.within(0.8999, 0.9)
  })

  it('counts a word that stands twice twice', () => {
    expect(similarity('DUM DUM LIMITED', 'DUM LIMITED')).to.be.below(LIFTED_TO_MATCH)
    expect(similarity('DUM LIMITED', 'DUM DUM LIMITED')).to.be.below(LIFTED_TO_MATCH)
    expect(similarity('DUM DUM', 'DUM DUM LIMITED')).to.equal(0.9999)
  })

  it('does not depend on which usual names stand around it in the order', () => {
    const held = 'KERRIGAN FOODS LIMITED'
    const forwards = compare(indexOf([held, ...CROWD]), 'KERIGAN FOODS LIMITED', 0)
    const backwards = compare(indexOf([...CROWD.toReversed(), held]), 'KERIGAN FOODS LIMITED', CROWD.length)
    expect(forwards).to.deep.equal(backwards)
  })

  it('has four decimals, from 0 to 0.9999', () => {
    fc.assert(
      fc.property(fc.array(anyName, { minLength: 1, maxLength: 20 }), anyName, (register, asked) => {
        const index = indexOf(register)
        for (const name of register.keys()) {
          const each = compare(index, asked, name).similarity
          expect(each).to.be.within(0, 0.9999)
          expect(Math.round(each * 10_000) / 10_000).to.equal(each)
        }
      }),
      { numRuns: 200 },
    )
  })

  /** Two of its neighbours stand in it once more, written together: they pair with that, and the rest is out of order. */
  const repeatsItself = (name: string) => {
    const { core } = parseName(name)
    return core.some((word, place) => core.includes(`${word}${core[place + 1]}`))
  }

  it('is 0.9999 for the same words and legal form', () => {
    const names = anyName.filter((name) => !repeatsItself(name))
    fc.assert(
      fc.property(fc.array(names, { minLength: 1, maxLength: 20 }), (register) => {
        const index = indexOf(register)
        for (const [name, text] of register.entries()) expect(compare(index, text, name).similarity).to.equal(0.9999)
      }),
      { numRuns: 100 },
    )
  })

  it('is less for a name that repeats two of its words as one, which equality finds before', () => {
    const name = 'CLEAR POINT CLEARPOINT KERRY LIMITED'
    expect(repeatsItself(name)).to.equal(true)
    expect(similarity(name, name)).to.be.within(0.8, 0.9998)
    expect(equalityOf(readName(name), name)).to.equal('strict_name')
  })

  it('never suffices with a word without counterpart, roughly like words or another legal form', () => {
    let judged = 0
    fc.assert(
      fc.property(fc.array(anyName, { minLength: 1, maxLength: 30 }), anyName, (register, asked) => {
        const index = indexOf(register)
        for (const [name, held] of register.entries()) {
          const isOther = areOtherForms(asked, held) || hasOddWord(asked, held) || hasOddWord(held, asked)
          if (!isOther) continue
          judged += 1
          expect(compare(index, asked, name).similarity, `${asked} / ${held}`).to.be.below(LIFTED_TO_MATCH)
        }
      }),
      { numRuns: 300 },
    )
    expect(judged).to.be.above(1000)
  })
})

describe('the equality of names', () => {
  const cases: [asked: string, held: string, 'strict_name' | 'relaxed_name' | undefined][] = [
    ["O'Brien Foods Ltd", 'OBRIEN FOODS LTD', 'strict_name'],
    ['Kerry Foods Limited', 'KERRY  FOODS LIMITED', 'strict_name'],
    ['Kerry Foods', 'KERRY FOODS', 'strict_name'],
    ['Kerry Foods Ltd', 'KERRY FOODS LIMITED', 'relaxed_name'],
    ['Kerry Foods Teoranta', 'KERRY FOODS LIMITED', 'relaxed_name'],
    ['Kerry Foods', 'KERRY FOODS LIMITED', 'relaxed_name'],
    ['Kerry Foods', 'KERRY FOODS DESIGNATED ACTIVITY COMPANY', 'relaxed_name'],
    ['Kerry Foods DAC', 'KERRY FOODS DESIGNATED ACTIVITY COMPANY', 'relaxed_name'],
    ['Kerry Foods DAC', 'KERRY FOODS LIMITED', undefined],
    ['Kerry Foods Limited', 'KERRY FOODS', undefined],
    ['Kerry Food Limited', 'KERRY FOODS LIMITED', undefined],
    ['Foods Kerry Limited', 'KERRY FOODS LIMITED', undefined],
  ]
  for (const [asked, held, expected] of cases) {
    it(`is ${expected ?? 'none'} for ${asked} and ${held}`, () => {
      expect(equalityOf(readName(asked), held)).to.equal(expected)
    })
  }
})

function areOtherForms(one: string, other: string): boolean {
  const forms = [parseName(one).suffix, parseName(other).suffix]
  return !forms.includes('') && forms[0] !== forms[1]
}

/** Whether a word is in no way the other name's, written together or apart, abbreviated or misspelt. */
function hasOddWord(one: string, other: string): boolean {
  const words = parseName(other).core
  const letters = words.join('')
  const isLike = (word: string) =>
    letters.includes(word) ||
    words.some((each) => word.includes(each) || SAME_MEANING.has(`${word} ${each}`)) ||
    words.some(
      (each) => edits(lettersOf(word), lettersOf(each), 3) <= Math.floor(Math.max(word.length, each.length) / 4),
    )
  return parseName(one).core.some((word) => !isLike(word))
}

const SAME_MEANING = new Set(
  ['international intl', 'saint st', 'street st', '2 two', '2 ii', 'two ii', 'and n'].flatMap((pair) => [
    pair,
    pair.split(' ').toReversed().join(' '),
  ]),
)
