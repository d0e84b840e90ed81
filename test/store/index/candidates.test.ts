/** The pool of names that may be meant: every bound holds, and what was left out is told. */
import { expect } from 'chai'
import fc from 'fast-check'
import { similarityTo } from '../../../agent/matching/similarity.ts'
import { drawPool, sameNames } from '../../../store/index/candidates.ts'
import { parseName } from '../../../store/index/names.ts'
import { readQuery } from '../../../store/index/query.ts'
import { anyName, indexOf, wordsOf } from '../../support/names.ts'

const registers = fc.array(anyName, { minLength: 1, maxLength: 40 })
/** Bounds are drawn in these. */
const STEP = 0.001

describe('the names that are called exactly so', () => {
  it('are those with the same words, in the order of their numbers', () => {
    fc.assert(
      fc.property(registers, anyName, (register, asked) => {
        const index = indexOf(register)
        const { core } = parseName(asked)
        const same = [...register.keys()].filter((name) => wordsOf(index, name).join(' ') === core.join(' '))
        expect(sameNames(index, core)).to.deep.equal(same)
      }),
      { numRuns: 200 },
    )
  })

  it('are none for no words', () => {
    expect(sameNames(indexOf(['KERRY LIMITED']), [])).to.deep.equal([])
  })
})

describe('the pool', () => {
  it('holds every name that is similar enough, none below its likeness, by descending bound', () => {
    fc.assert(
      fc.property(registers, anyName, fc.constantFrom(0, 0.3, 0.5, 0.8), (register, asked, similarityMin) => {
        const index = indexOf(register)
        const { core, suffix } = parseName(asked)
        const query = readQuery(index, core)
        const measure = similarityTo(index, query, suffix)
        const pool = drawPool(index, query, { similarityMin, namesMax: 1000, accepts: () => true })
        const bounds = new Map(Array.from(pool.names, (name, place) => [name, pool.bounds[place]!]))
        expect(bounds.size).to.equal(pool.names.length)
        expect(pool.boundLeftOut).to.equal(0)
        for (const name of register.keys()) {
          const { similarity } = measure(name)
          const bound = bounds.get(name)
          if (bound !== undefined) expect(bound, register[name]).to.be.at.least(similarity)
          else expect(similarity === 0 || similarity < similarityMin, register[name]).to.equal(true)
        }
        for (let place = 1; place < pool.names.length; place += 1)
          expect(pool.bounds[place]).to.be.at.most(pool.bounds[place - 1]!)
      }),
      { numRuns: 400 },
    )
  })

  it('draws the same each time, whatever was asked between', () => {
    fc.assert(
      fc.property(registers, anyName, anyName, (register, one, other) => {
        const index = indexOf(register)
        const draw = (asked: string) => {
          const query = readQuery(index, parseName(asked).core)
          return drawPool(index, query, { similarityMin: 0.4, namesMax: 100, accepts: () => true })
        }
        const first = draw(one)
        draw(other)
        expect(draw(one)).to.deep.equal(first)
      }),
      { numRuns: 100 },
    )
  })

  it('that is too small draws the highest bounds and says the next', () => {
    fc.assert(
      fc.property(registers, anyName, fc.nat(8), (register, asked, namesMax) => {
        const index = indexOf(register)
        const query = readQuery(index, parseName(asked).core)
        const limits = { similarityMin: 0.2, accepts: () => true }
        const all = drawPool(index, query, { ...limits, namesMax: 1000 })
        const pool = drawPool(index, query, { ...limits, namesMax })
        expect(pool.names).to.deep.equal(all.names.subarray(0, namesMax))
        expect(pool.bounds).to.deep.equal(all.bounds.subarray(0, namesMax))
        expect(pool.boundLeftOut).to.be.closeTo(all.bounds[namesMax] ?? 0, STEP / 10)
      }),
      { numRuns: 200 },
    )
  })

  it('has only names that are accepted', () => {
    const index = indexOf(['KERRY FOODS LIMITED', 'KERRY FARMS LIMITED', 'KERRY FOODS DAC'])
    const query = readQuery(index, ['kerry', 'foods'])
    const pool = drawPool(index, query, { similarityMin: 0, namesMax: 10, accepts: (name) => name !== 0 })
    expect([...pool.names]).to.deep.equal([2, 1])
  })
})
