/** The arithmetic of comparisons: places, recall against an exhaustive ranking, quantiles, and times against targets. */
import { expect } from 'chai'
import { aListed } from '../../support/listed.ts'
import { unpadded } from '../../support/unpadded.ts'
import { quantile, recall, timed, type Contender } from '../peers/contender.ts'
import { openMiniSearch } from '../peers/minisearch.ts'
import { POSTGRES } from '../peers/postgres.ts'
import { openSqlite } from '../peers/sqlite.ts'
import { makeQueries } from '../search/queries.ts'
import { everyExactNameFound, timesTable, timeTargets, type Measured } from '../search/times.ts'
import { compare, comparedQuestions, comparisonTable } from './comparison.ts'
import { makeQuestions } from './questions.ts'
import { Register } from './register.ts'

const SEED = 5
const companies = ['DOLMEN FOODS', 'DOLMEN MOTORS', 'RATHMORE CHEESE', 'GLENVEAGH CYCLES'].map((name, index) =>
  aListed(String(index + 1), `${name} LIMITED`),
)
const register = new Register(companies)
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

  it('takes any of those as good as the tenth, and no more than ten', () => {
    const twelve = Array.from({ length: 12 }, (_, index) => String(index))
    expect(recall(twelve.slice(2), twelve)).to.equal(1)
    expect(recall(['x', 'y', ...twelve], twelve)).to.equal(0.8)
  })

  it('is nothing where there is no truth', () => {
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

  const measured = (change: Partial<Measured>): Measured => ({
    role: 'ours',
    contender: 'us',
    group: 'one typo',
    kind: 'fuzzy',
    times: [1],
    rankings: [['1']],
    truth: undefined,
    ...change,
  })
  const states = (all: Measured[]) =>
    Object.fromEntries([everyExactNameFound(all), ...timeTargets(all)].map(({ target, isMet }) => [target, isMet]))

  it('are held against the targets, by kind', () => {
    const exact = measured({ group: 'exact', kind: 'exact', times: [0.5] })
    expect(states([exact, { ...exact, role: 'ours, resolving', times: [2] }])).to.include({
      'exact and relaxed, p99 < 1 ms': true,
      'exact, resolved, p99 < 1 ms': false,
    })
    expect(states([exact, measured({})])).to.deep.equal({
      'exact and relaxed names found >= 100 %': true,
      'exact and relaxed, p99 < 1 ms': true,
      'fuzzy, p50 < 4 ms': true,
      'fuzzy, p99 < 10 ms': true,
      'slowest of all < 50 ms': true,
    })
    const slow = {
      exact: { ...exact, rankings: [[]], times: [1] },
      hostile: measured({ kind: 'hostile', times: [50] }),
    }
    expect(states([slow.exact, measured({ times: [4, 10] }), slow.hostile])).to.deep.equal({
      'exact and relaxed names found >= 100 %': false,
      'exact and relaxed, p99 < 1 ms': false,
      'fuzzy, p50 < 4 ms': false,
      'fuzzy, p99 < 10 ms': false,
      'slowest of all < 50 ms': false,
    })
  })

  it('are held against those of PostgreSQL on the same queries', () => {
    const ours = measured({ role: 'ours, beside peers', truth: [['1']] })
    const theirs = measured({ role: 'peer', contender: POSTGRES, times: [19], rankings: [['2']], truth: [['1']] })
    const targets = states([measured({}), ours, theirs])
    expect(targets['fuzzy, times as fast as pg_trgm >= 20']).to.equal(false)
    expect(targets['fuzzy, recall@10 not below that of pg_trgm']).to.equal(true)
    const untrue = states([measured({}), { ...ours, truth: undefined }, { ...theirs, truth: undefined }])
    expect(untrue['fuzzy, recall@10 not below that of pg_trgm']).to.equal(undefined)
  })

  it('are shown with the ratio to ours', () => {
    const lines = timesTable([
      measured({}),
      measured({ role: 'peer', contender: 'other', times: [20], truth: [['1', '2']] }),
    ])
    expect(unpadded(lines).at(-1)).to.equal('| other | one typo | 1 | 20.00 | 20.00 | 20.00 | 20.00 | 20.0 x | 50 % |')
  })
})

describe('a comparison', () => {
  it('takes as many questions of each class as of the others, and none that nobody can answer', () => {
    const few = comparedQuestions(questions, SEED, 20)
    const perClass = new Map<string, number>()
    for (const { class: asked, meant } of few) {
      expect(meant).not.to.equal(undefined)
      perClass.set(asked.id, (perClass.get(asked.id) ?? 0) + 1)
    }
    expect(few.length).to.be.within(15, 20)
    expect(Math.max(...perClass.values())).to.be.at.most(2)
  })

  it('scores contenders on the same questions, and closes them', async () => {
    const few = comparedQuestions(questions, SEED, 20)
    const truth = new Map(few.map(({ asked, meant }) => [asked.name, meant?.number ?? '']))
    const closed: string[] = []
    const knowing = {
      ...contender('knowing', (name) => [truth.get(name) ?? '']),
      close: async () => void closed.push('k'),
    }
    const second = contender('second', async (name) => ['nobody', truth.get(name) ?? ''])
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
    expect(unpadded(comparisonTable(result)).at(-1)).to.include(`| second | ${few.length} | 0 % | 100 % | 100 % |`)
  })

  for (const [name, open] of Object.entries({ openSqlite, openMiniSearch })) {
    it(`has a peer that works: ${name}`, async () => {
      const peer = await open(companies)
      try {
        expect((await peer?.top('RATHMORE CHEESES LTD'))?.[0]).to.equal('3')
        expect(await peer?.top('" OR (')).to.be.an('array')
        expect(await peer?.top('ZZ')).to.deep.equal([])
      } finally {
        await peer?.close()
      }
    })
  }
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
