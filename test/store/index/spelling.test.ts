/** How alike words are spelt: against the textbook's definition, and the numbers that words hold. */
import { expect } from 'chai'
import fc from 'fast-check'
import { edits, editsAllowed, lettersOf, numeralOf, spellingSimilarity } from '../../../store/index/spelling.ts'
import { areApart, areSurelyApart, masksOf } from '../../../store/index/letters.ts'
import { distance } from '../../support/distance.ts'

const letters = fc.constantFrom('a', 'b', 'c', 'é', '1', '東', '\u{1F600}')
const word = fc.oneof(
  fc.array(letters, { maxLength: 12 }).map((units) => units.join('')),
  fc.stringMatching(/^[a-z]{0,20}$/),
  fc.array(fc.constantFrom('a', 'b'), { minLength: 60, maxLength: 66 }).map((units) => units.join('')),
)

/** A word, and the same word after some edits. */
const neighbours = fc
  .tuple(word, fc.array(fc.tuple(fc.nat(3), fc.nat(70), letters), { maxLength: 4 }))
  .map(([text, changes]) => {
    const units = text.split('')
    for (const [kind, place, unit] of changes) {
      const at = place % (units.length + 1)
      if (kind === 0) units.splice(at, 1)
      else if (kind === 1) units.splice(at, 0, unit)
      else if (kind === 2) units.splice(at, 1, unit)
      else units.splice(at, 2, ...units.slice(at, at + 2).toReversed())
    }
    return [text, units.join('')] as const
  })
const pairs = fc.oneof(neighbours, fc.tuple(word, word))

describe('the edits between two words', () => {
  it('are those of the optimal string alignment, counted up to the limit', () => {
    fc.assert(
      fc.property(pairs, fc.nat(5), ([one, other], limit) => {
        const isLong = Math.max(one.length, other.length) > 64
        const expected = isLong ? limit + 1 : Math.min(distance(one, other), limit + 1)
        expect(edits(lettersOf(one), lettersOf(other), limit)).to.equal(expected)
        expect(edits(lettersOf(other), lettersOf(one), limit)).to.equal(expected)
      }),
      { numRuns: 1000 },
    )
  })

  it('are counted in the middle of an array too', () => {
    const { units } = lettersOf('xxkerryyy')
    expect(edits({ units, start: 2, length: 5 }, lettersOf('kreey'), 3)).to.equal(2)
  })

  it('never exceed a limit when the letters alone do not', () => {
    fc.assert(
      fc.property(pairs, fc.integer({ min: 1, max: 2 }), ([one, other], limit) => {
        const [masks, otherMasks] = [one, other].map((text) => masksOf(lettersOf(text).units, 0, text.length))
        if (areApart(masks!.once, otherMasks!.once, limit) || areSurelyApart(masks!, otherMasks!, limit))
          expect(distance(one, other)).to.be.greaterThan(limit)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('the likeness of two words', () => {
  const likeness = (one: string, other: string) =>
    spellingSimilarity(lettersOf(one), lettersOf(other), editsAllowed(one.length))

  it('is one less the edits per letter of the longer word', () => {
    expect(likeness('kerry', 'kerry')).to.equal(1)
    expect(likeness('kerry', 'kery')).to.equal(0.8)
    expect(likeness('holdings', 'hlodings')).to.equal(0.875)
    expect(likeness('holdings', 'holding')).to.equal(0.875)
    expect(likeness('abcd', 'abce')).to.equal(0.75)
  })

  it('is nothing beyond the edits that its length allows: none, one up to four letters, two', () => {
    expect([1, 2, 4, 5, 40].map(editsAllowed)).to.deep.equal([0, 1, 1, 2, 2])
    expect(likeness('a', 'b')).to.equal(0)
    expect(likeness('cork', 'kerr')).to.equal(0)
    expect(likeness('kerry', 'derby')).to.equal(0.6)
    expect(likeness('kerry', 'dorby')).to.equal(0)
  })
})

describe('the number that a word holds', () => {
  const cases: [string, string][] = [
    ['kerry', ''],
    ['57', '57'],
    ['phase2', '2'],
    ['2nd', '2'],
    ['b2b4', '24'],
    ['ii', 'ii'],
    ['iv', 'iv'],
    ['ix', 'ix'],
    ['xviii', 'xviii'],
    ['xxxix', 'xxxix'],
    ['i', ''],
    ['v', ''],
    ['x', ''],
    ['mix', ''],
    ['iiii', ''],
    ['vix', ''],
    ['xl', 'xl'],
    ['cxvii', 'cxvii'],
    ['cxvixi', ''],
  ]
  for (const [text, numeral] of cases) {
    it(`is ${numeral || 'none'} for ${text}`, () => {
      expect(numeralOf(text)).to.equal(numeral)
    })
  }
})
