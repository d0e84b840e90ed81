/** Splitting a word into words of the register. */
import { expect } from 'chai'
import fc from 'fast-check'
import { OperationBudget } from '../../../store/index/operation-budget.ts'
import { segmentWord } from '../../../store/index/segments.ts'
import { buildIndex, unlimited } from '../../support/names.ts'

const split = (names: readonly string[], word: string, splitsMax = 4) =>
  segmentWord(buildIndex(names), word, { splitsMax, budget: unlimited() })

describe('splitting a word', () => {
  it('[12.14] finds words of the register that make up the whole word, common words first', () => {
    const names = ['DUBLIN BUS SERVICES LIMITED', 'DUBLIN BUSS ERVICES LIMITED', 'DUBLIN SERVICES LIMITED']
    expect(split(names, 'dublinbusservices')).to.deep.equal([
      ['dublin', 'bus', 'services'],
      ['dublin', 'buss', 'ervices'],
    ])
    expect(split(names, 'dublinbusservices', 1)).to.have.length(1)
    expect(split(names, 'dublinbusservicez')).to.deep.equal([])
    expect(split(names, 'services')).to.deep.equal([])
  })

  const piece = fc.stringMatching(/^[ab]{1,4}$/)

  it('gives only splits into words of the register, and one whenever there is one', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(piece, { minLength: 1, maxLength: 6 }),
        fc.stringMatching(/^[ab]{6,12}$/),
        (words, word) => {
          const found = split(
            words.map((each) => `${each} LIMITED`),
            word,
          )
          const known = new Set(words)
          for (const parts of found) {
            expect(parts.join('')).to.equal(word)
            expect(parts.length).to.be.within(2, 8)
            expect(parts.every((part) => known.has(part))).to.equal(true)
          }
          if (new RegExp(`^(?:${words.join('|')}){2,8}$`).test(word) && found.length === 0)
            // The few cheapest splits of a beginning can be those that need more words.
            expect(word.length).to.be.above(8)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('[12.9] counts its lookups', () => {
    const index = buildIndex(['AB LIMITED', 'CDEF LIMITED'])
    const lookups = (6 * 7) / 2
    const within = (operations: number) =>
      segmentWord(index, 'abcdef', { splitsMax: 1, budget: new OperationBudget(operations) })
    expect(within(lookups * 100)).to.deep.equal([['ab', 'cdef']])
    expect(within(lookups * 100 + 1)).to.have.length(1)
    expect(within(lookups * 100 - 1)).to.deep.equal([])
  })

  it('splits neither a word of five letters nor one of 49', () => {
    const names = ['AB LIMITED', 'ABA LIMITED', 'A LIMITED', 'AAAAAAA LIMITED']
    expect(split(names, 'ababa')).to.deep.equal([])
    expect(split(names, 'ababab')).not.to.deep.equal([])
    expect(split(names, 'aaaaaaa'.repeat(7))).to.deep.equal([])
    expect(split(names, 'aaaaaaa'.repeat(6))).not.to.deep.equal([])
  })
})
