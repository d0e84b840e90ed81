/** Edit distance against a textbook implementation, spelling similarity, and numbers in words. */
import { expect } from 'chai'
import fc from 'fast-check'
import { editDistance, toCodeUnits, extractNumber } from '../../../store/index/spelling.ts'
import { referenceDistance } from '../../support/edit-distance.ts'

const letters = fc.constantFrom('a', 'b', 'c', 'é', '1', '東', '\u{1F600}')
const word = fc.oneof(
  fc.array(letters, { maxLength: 12 }).map((units) => units.join('')),
  fc.stringMatching(/^[a-z]{0,20}$/),
  fc.array(fc.constantFrom('a', 'b'), { minLength: 28, maxLength: 34 }).map((units) => units.join('')),
)

/** A word, and the same word after some edits. */
const variants = fc
  .tuple(word, fc.array(fc.tuple(fc.nat(3), fc.nat(40), letters), { maxLength: 4 }))
  .map(([text, changes]) => {
    const units = text.split('')
    for (const [kind, offset, unit] of changes) {
      const at = offset % (units.length + 1)
      if (kind === 0) units.splice(at, 1)
      else if (kind === 1) units.splice(at, 0, unit)
      else if (kind === 2) units.splice(at, 1, unit)
      else units.splice(at, 2, ...units.slice(at, at + 2).toReversed())
    }
    return [text, units.join('')] as const
  })
const pairs = fc.oneof(variants, fc.tuple(word, word))

describe('the edit distance', () => {
  it('is the optimal string alignment distance, up to the limit', () => {
    fc.assert(
      fc.property(pairs, fc.nat(5), ([one, other], limit) => {
        const isLong = Math.max(one.length, other.length) > 32
        const expected = isLong ? limit + 1 : Math.min(referenceDistance(one, other), limit + 1)
        expect(editDistance(toCodeUnits(one), toCodeUnits(other), limit)).to.equal(expected)
        expect(editDistance(toCodeUnits(other), toCodeUnits(one), limit)).to.equal(expected)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('the number in a word', () => {
  const NUMBERS = { 57: '57', phase2: '2', '2nd': '2', b2b4: '24', kerry: '' }
  const ROMAN = ['ii', 'iv', 'ix', 'xviii', 'xxxix', 'xl', 'cxvii']
  const NOT_ROMAN = ['i', 'v', 'x', 'mix', 'iiii', 'vix', 'cxvixi']
  it('is its digits, or the whole word for a Roman numeral of two letters or more', () => {
    for (const [text, number] of Object.entries(NUMBERS)) expect(extractNumber(text), text).to.equal(number)
    for (const text of ROMAN) expect(extractNumber(text)).to.equal(text)
    for (const text of NOT_ROMAN) expect(extractNumber(text), text).to.equal('')
  })
})
