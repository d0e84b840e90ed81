/** Candidate selection: every bound is an upper bound, and excluded names are reported. */
import { expect } from 'chai'
import fc from 'fast-check'
import { similarityMeasure } from '../../../agent/answer/search/similarity.ts'
import { selectCandidates, selectContaining } from '../../../store/index/candidates.ts'
import { findContainedWords } from '../../../store/index/containing.ts'
import { parseName } from '../../../store/index/normalise-name.ts'
import { analyseQuery } from '../../../store/index/query.ts'
import { anyName, buildIndex, unlimited, wordsOf } from '../../support/names.ts'

const registers = fc.array(anyName, { minLength: 1, maxLength: 40 })
/** Bounds are multiples of this. */
const STEP = 0.001

describe('selectCandidates', () => {
  it('returns every similar name in descending order of an upper bound of its similarity', () => {
    fc.assert(
      fc.property(registers, anyName, fc.constantFrom(0, 0.3, 0.5, 0.8), (register, text, similarityMin) => {
        const index = buildIndex(register)
        const { core, suffix } = parseName(text)
        const query = analyseQuery(index, core, unlimited())
        const measure = similarityMeasure(index, query, { suffix, budget: unlimited() })
        const pool = selectCandidates(index, query, {
          similarityMin,
          namesMax: 1000,
          accepts: () => true,
          budget: unlimited(),
        })
        const bounds = new Map(Array.from(pool.names, (name, at) => [name, pool.bounds[at]!]))
        expect(bounds.size).to.equal(pool.names.length)
        expect(pool.excludedBound).to.equal(0)
        for (const name of register.keys()) {
          const { similarity } = measure(name)
          const bound = bounds.get(name)
          if (bound !== undefined) expect(bound, register[name]).to.be.at.least(similarity)
          else expect(similarity === 0 || similarity < similarityMin, register[name]).to.equal(true)
        }
        for (let at = 1; at < pool.names.length; at += 1) expect(pool.bounds[at]).to.be.at.most(pool.bounds[at - 1]!)
      }),
      { numRuns: 400 },
    )
  })

  it('returns the highest bounds when the limit is reached, and reports the highest excluded bound', () => {
    fc.assert(
      fc.property(registers, anyName, fc.nat(8), (register, text, namesMax) => {
        const index = buildIndex(register)
        const query = analyseQuery(index, parseName(text).core, unlimited())
        const limits = { similarityMin: 0.2, accepts: () => true, budget: unlimited() }
        const all = selectCandidates(index, query, { ...limits, namesMax: 1000 })
        const pool = selectCandidates(index, query, { ...limits, namesMax })
        expect(pool.names).to.deep.equal(all.names.subarray(0, namesMax))
        expect(pool.bounds).to.deep.equal(all.bounds.subarray(0, namesMax))
        expect(pool.excludedBound).to.be.closeTo(all.bounds[namesMax] ?? 0, STEP / 10)
      }),
      { numRuns: 200 },
    )
  })
})

/** Names of a few words, so that the postings of some words are much longer than those of others. */
const crowdedRegisters = fc.array(
  fc
    .tuple(fc.constantFrom('KERRY', 'CORK', 'MAYO', 'MAYOR'), fc.subarray(['FOODS', 'FARM', 'HOLDINGS', 'GROUP', 'CO']))
    .map(([first, others]) => [first, ...others].join(' ')),
  { minLength: 50, maxLength: 300 },
)
const noLimits = () => ({ similarityMin: 0, namesMax: 1000, accepts: () => true, budget: unlimited() })

describe('a register with long and short postings', () => {
  it('[12.13, 12.14] returns the names that contain every word of a query, the last one completed', () => {
    const queries = fc.subarray(['kerry', 'may', 'foods', 'farm', 'group'], { minLength: 1 })
    fc.assert(
      fc.property(crowdedRegisters, queries, fc.boolean(), (register, words, isReversed) => {
        const index = buildIndex(register)
        const asked = isReversed ? words.toReversed() : words
        const contained = findContainedWords(index, asked, { isOpenEnded: true, budget: unlimited() })
        const pool = contained && selectContaining(index, contained.query, noLimits())
        const found = Array.from(pool?.names ?? [])
        const contains = (name: number) =>
          asked.every((word, at) =>
            wordsOf(index, name).some((each) => (at === asked.length - 1 ? each.startsWith(word) : each === word)),
          )
        expect(found.toSorted((one, other) => one - other)).to.deep.equal([...register.keys()].filter(contains))
        const measure = contained && similarityMeasure(index, contained.query, { suffix: '', budget: unlimited() })
        for (const [at, name] of found.entries())
          expect(pool?.bounds[at]).to.be.at.least(measure?.(name).similarity ?? 1)
      }),
    )
  })
})
