/** The arithmetic of comparisons: ranks, recall against a reference ranking, and quantiles. */
import { expect } from 'chai'
import { benchCompany } from '../../support/bench-company.ts'
import { tableLines } from '../../support/markdown.ts'
import { recall, timed, type Contender } from '../search/contender.ts'
import { makeQueries } from '../search/queries.ts'
import { quantile } from '../statistics.ts'
import {
  compare,
  comparedQuestions,
  comparisonByClass,
  comparisonTable,
  comparisonTargets,
  type Compared,
} from './comparison.ts'
import { makeQuestions } from './questions.ts'
import { ReferenceRegister } from './register.ts'

const SEED = 5
const companies = ['DOLMEN FOODS', 'DOLMEN MOTORS', 'RATHMORE CHEESE', 'GLENVEAGH CYCLES'].map((name, index) =>
  benchCompany(String(index + 1), `${name} LIMITED`),
)
const register = new ReferenceRegister(companies)
const sample = companies.map((company) => ({ company, stratum: 'live' as const }))
const { questions } = makeQuestions({ register, sample, removed: [], seed: SEED })

function contender(name: string, top: Contender['top']): Contender {
  return { name, top, close: async () => undefined }
}

describe('recall at ten', () => {
  it('is the share of the best ten that were found', () => {
    expect(recall(['1', '2'], ['1', '2', '3', '4'])).to.equal(0.5)
    expect(recall([], ['1'])).to.equal(0)
  })

  it('accepts any result as good as the tenth, and counts at most ten', () => {
    const twelve = Array.from({ length: 12 }, (_, index) => String(index))
    expect(recall(twelve.slice(2), twelve)).to.equal(1)
    expect(recall(['x', 'y', ...twelve], twelve)).to.equal(0.8)
  })

  it('is undefined without a reference ranking', () => {
    expect(recall(['1'], [])).to.equal(undefined)
  })
})

describe('times', () => {
  it('are told by their quantiles, in any order', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index)
    expect([0.5, 0.95, 0.99].map((part) => quantile(hundred, part))).to.deep.equal([51, 96, 100])
    expect(quantile([7], 0.99)).to.equal(7)
    expect(quantile([], 0.5)).to.deep.equal(Number.NaN)
  })

  it('are one for each query, with its ranking', async () => {
    const { rankings, times } = await timed(
      contender('echo', async (name) => [name]),
      ['A', 'B'],
    )
    expect(rankings).to.deep.equal([['A'], ['B']])
    expect(times).to.have.length(2)
  })
})

describe('a comparison', () => {
  it('takes about the same number of answerable questions of each class', () => {
    const few = comparedQuestions(questions, SEED, 20)
    const perClass = new Map<string, number>()
    for (const { class: asked, expected } of few) {
      expect(expected).not.to.equal(undefined)
      perClass.set(asked.id, (perClass.get(asked.id) ?? 0) + 1)
    }
    expect(few.length).to.be.within(15, 20)
    expect(Math.max(...perClass.values())).to.be.at.most(2)
  })

  it('scores contenders on the same questions and closes them', async () => {
    const few = comparedQuestions(questions, SEED, 20)
    const truth = new Map(few.map(({ asked, expected }) => [asked.name, expected?.number ?? '']))
    const closed: string[] = []
    const knowing = {
      ...contender('knowing', (name) => [truth.get(name) ?? '']),
      close: async () => void closed.push('k'),
    }
    const second = contender('second', async (name) => ['none', truth.get(name) ?? ''])
    const result = await compare({
      questions: few,
      register,
      contenders: [async () => knowing, async () => undefined, async () => second],
      exhaustive: async () => knowing,
      onProgress: () => undefined,
    })
    const figures = result.map(({ name, asked, top1, top5, recall: found }) => ({ name, asked, top1, top5, found }))
    expect(figures).to.deep.equal([
      { name: 'knowing', asked: few.length, top1: 1, top5: 1, found: 1 },
      { name: 'second', asked: few.length, top1: 0, top5: 1, found: 1 },
    ])
    expect(closed).to.deep.equal(['k', 'k'])
    expect(tableLines(comparisonTable(result)).at(-1)).to.include(`| second | ${few.length} | 0 % | 100 % | 100 % |`)
  })
})

describe('the queries of the speed bench', () => {
  it('are of every kind, the same of the same seed, and none longer than the input allows', () => {
    const groups = makeQueries(register, { count: 30, seed: SEED })
    expect(makeQueries(register, { count: 30, seed: SEED })).to.deep.equal(groups)
    expect(groups.map(({ name }) => name)).to.include.members(['exact', 'one typo', 'common words', 'hostile'])
    for (const { queries } of groups) for (const query of queries) expect(query.length).to.be.within(3, 160)
    expect(Math.max(...groups.flatMap(({ queries }) => queries.map((query) => query.length)))).to.equal(160)
  })
})

describe('the targets of a comparison', () => {
  const engine = (name: string, top1: number, right: number, asked = 50): Compared => ({
    name,
    asked,
    top1,
    top5: 1,
    recall: 1,
    p50: 1,
    p95: 1,
    p99: 1,
    byClass: new Map([['s1', { label: 's1 only the rarest word', asked, right }]]),
  })
  const met = (compared: readonly Compared[]) => comparisonTargets(compared).map(({ isMet }) => isMet)

  it('are met by more right first answers over all and at least as many in every class', () => {
    expect(met([engine('own', 0.9, 45), engine('one', 0.8, 45), engine('two', 0.7, 10)])).to.deep.equal([true, true])
    expect(met([engine('own', 0.9, 35), engine('one', 0.9, 46)])).to.deep.equal([false, false])
  })

  it('do not count a lead that can be chance', () => {
    // Two standard errors are 6.4 of 50 queries here.
    expect(met([engine('own', 0.9, 39), engine('one', 0.8, 45)])).to.deep.equal([true, true])
    expect(met([engine('own', 0.9, 38), engine('one', 0.8, 46)])).to.deep.equal([true, false])
  })

  it('do not judge a class with fewer than 50 queries', () => {
    expect(met([engine('own', 0.9, 20, 49), engine('one', 0.8, 46, 49)])).to.deep.equal([true, true])
  })

  it('are none without a peer', () => {
    expect(comparisonTargets([engine('own', 1, 50)])).to.deep.equal([])
  })

  it('are shown by class', () => {
    const table = comparisonByClass([engine('own', 0.9, 45), engine('one', 0.8, 40)])
    expect(tableLines(table).at(-1)).to.equal('| s1 only the rarest word | 50 | 90 % | 80 % |')
  })
})
