/** Evaluation, counts, tables and targets, with a product that gives prepared answers. */
import { expect } from 'chai'
import { benchCompany } from '../../support/bench-company.ts'
import { tableLines } from '../../support/markdown.ts'
import { sharesByScore } from './calibration.ts'
import { CLASSES, NEGATIVES, type QuestionClass } from './classes.ts'
import { debugText } from './debug.ts'
import type { Product, Resolved } from './product.ts'
import type { Question } from './questions.ts'
import { classTable, recoverableNote, uniqueTable } from './table.ts'
import { accuracyTargets, tally } from './tally.ts'
import { evaluate, type Evaluation } from './evaluate.ts'

const TYPO = classOf('1')
const FORM_DROPPED = classOf('4')
const WRONG_EIRCODE = classOf('17')
const NUMBER = '42'

function classOf(id: string): QuestionClass {
  const found = CLASSES.find((each) => each.id === id)
  if (!found) throw new Error(`Unknown class ${id}`)
  return found
}

function question(change: Partial<Question> = {}): Question {
  return {
    class: TYPO,
    asked: { name: 'ACNE LIMITED' },
    search: { operation: 'search', input: { q: 'ACNE LIMITED', limit: 10 } },
    resolve: { operation: 'resolve', input: { name: 'ACNE LIMITED' } },
    expected: benchCompany(NUMBER, 'ACME LIMITED'),
    isRemoved: false,
    accepted: [NUMBER],
    isUnique: false,
    isLong: true,
    ...change,
  }
}

interface Answers {
  found?: readonly string[]
  status?: Resolved['status']
  matched?: string
}

function fake({ found = [], status = 'no_match', matched }: Answers): Product {
  const named = (number: string) => ({ number, name: `COMPANY ${number}`, score: 960 })
  return {
    search: () => found.map(named),
    resolve: () => {
      const match = matched === undefined ? undefined : named(matched)
      return { status, match, first: match }
    },
    matchingVersion: () => undefined,
  }
}

const evaluated = (answers: Answers, change: Partial<Question> = {}): Evaluation =>
  evaluate(question(change), fake(answers))
const matched = (number: string): Answers => ({ status: 'matched', matched: number })
const isMet = (evaluations: readonly Evaluation[], target: string) =>
  accuracyTargets(evaluations).find((each) => each.target.startsWith(target))?.isMet
const times = (count: number, evaluation: Evaluation): Evaluation[] => Array.from({ length: count }, () => evaluation)

describe('an evaluation', () => {
  it('has the rank of the first right company', () => {
    expect(evaluated({ found: [NUMBER] }).rank).to.equal(0)
    expect(evaluated({ found: ['1', '2', NUMBER] }).rank).to.equal(2)
    expect(evaluated({ found: ['1', '43', NUMBER] }, { accepted: [NUMBER, '43'] }).rank).to.equal(1)
    expect(evaluated({ found: ['1', '2'] }).rank).to.equal(undefined)
  })

  it('accepts only the expected company as a match', () => {
    expect(evaluated(matched(NUMBER)).resolution).to.equal('right')
    expect(evaluated(matched('43')).resolution).to.equal('wrong')
    expect(evaluated(matched('43'), { accepted: [NUMBER, '43'] }).resolution).to.equal('wrong')
  })

  it('treats every match as wrong in classes without a right answer', () => {
    expect(evaluated(matched(NUMBER), { class: WRONG_EIRCODE }).resolution).to.equal('wrong')
    expect(evaluated(matched(NUMBER), { isRemoved: true, expected: undefined }).resolution).to.equal('wrong')
  })

  for (const status of ['ambiguous', 'conflicting', 'no_match', 'refused'] as const) {
    it(`keeps the status ${status}`, () => expect(evaluated({ status }).resolution).to.equal(status))
  }
})

describe('evaluations', () => {
  const evaluations = [
    evaluated({ found: [NUMBER], ...matched(NUMBER) }),
    evaluated({ found: ['1', NUMBER], status: 'ambiguous' }),
    evaluated({ found: ['1', '2', '3', '4', '5', NUMBER], ...matched('1') }),
    evaluated({ found: ['1'], status: 'no_match' }),
    evaluated({ found: ['1'], ...matched('1') }, { class: NEGATIVES.invented, expected: undefined, accepted: [] }),
  ]

  it('counts ranks of registered companies and the resolutions of all', () => {
    expect(tally(evaluations)).to.deep.equal({
      asked: 5,
      findable: 4,
      top1: 1,
      top5: 2,
      top10: 3,
      resolutions: { right: 1, wrong: 2, ambiguous: 1, conflicting: 0, no_match: 1, refused: 0 },
    })
  })

  it('are shown in one line per class and one for all', () => {
    const lines = tableLines(classTable(evaluations, new Map([['1', 7]])))
    expect(lines.slice(2)).to.deep.equal([
      '| 1 one typo | 4 | 25 % | 50 % | 75 % | 25 % | 1 (25 %) | 25 % | 0 % | 25 % | 0 | 7 |',
      '| n2 not registered, invented words | 1 | - | - | - | 0 % | 1 (100 %) | 0 % | 0 % | 0 % | 0 | 0 |',
      '| all | 5 | 25 % | 50 % | 75 % | 20 % | 2 (40 %) | 20 % | 0 % | 20 % | 0 | 7 |',
    ])
  })

  it('are shown separately for unique names', () => {
    const found = { found: [NUMBER], ...matched(NUMBER) }
    const some = [
      evaluated(found, { class: FORM_DROPPED, isUnique: true }),
      evaluated({ status: 'ambiguous' }, { class: FORM_DROPPED, isUnique: true }),
      evaluated({ status: 'ambiguous' }, { class: FORM_DROPPED }),
    ]
    expect(tableLines(uniqueTable(some)).at(-1)).to.equal('| 4 legal form omitted | 2 | 50 % | 50 % |')
  })

  it('list wrong matches and misses by name', () => {
    const text = debugText(evaluations)
    expect(text).to.include('matched wrong: 2').and.include('not first in search results: 3')
    expect(text).to.include('1\tquery {"name":"ACNE LIMITED"}\texpected 42 ACME LIMITED\tgot 1 COMPANY 1\twrong')
    expect(text).to.include('n2\tquery {"name":"ACNE LIMITED"}\texpected none\tgot 1 COMPANY 1\twrong')
  })
})

describe('the targets', () => {
  const good = evaluated({ found: [NUMBER], ...matched(NUMBER) })
  const wrong = evaluated({ found: [NUMBER], ...matched('1') })

  it('allow one wrong match in 20,000 and not two, with the company in the register and without it', () => {
    const removed = (each: Evaluation) => ({ ...each, question: question({ isRemoved: true }) })
    for (const [target, of] of [
      ['wrong matches, the company is in the register', (each: Evaluation) => each],
      ['wrong matches, the company is removed', removed],
    ] as const) {
      expect(isMet([...times(19_999, of(good)), of(wrong)], target)).to.equal(true)
      expect(isMet([...times(19_998, of(good)), of(wrong), of(wrong)], target)).to.equal(false)
    }
  })

  it('require no match for nine of ten names that are not registered', () => {
    for (const [target, unregistered] of [
      ['no match, name of a removed company', { class: classOf('0'), isRemoved: true }],
      ['no match, a given list', { class: NEGATIVES.listed }],
    ] as const) {
      const change = { ...unregistered, expected: undefined, accepted: [] }
      const [none, some] = [evaluated({}, change), evaluated({ status: 'ambiguous' }, change)]
      expect(isMet([...times(9, none), some], target)).to.equal(true)
      expect(isMet([...times(8, none), some], target)).to.equal(false)
    }
  })

  it('allow one wrong match in 500 of a class, whatever the other classes', () => {
    const ofClass = (evaluation: Evaluation) => ({ ...evaluation, question: question({ class: FORM_DROPPED }) })
    const others = times(10_000, good)
    expect(isMet([...others, ...times(499, ofClass(good)), ofClass(wrong)], 'wrong matches in the')).to.equal(true)
    const missed = [...others, ...times(498, ofClass(good)), ofClass(wrong)]
    expect(isMet(missed, 'wrong matches in the worst class, 4 legal form omitted')).to.equal(false)
  })

  it('allow no refusal', () => {
    expect(isMet([good], 'refused')).to.equal(true)
    expect(isMet([good, evaluated({ status: 'refused' })], 'refused')).to.equal(false)
  })

  it('require 99 % matches of unique names in another notation', () => {
    const unique = { class: FORM_DROPPED, isUnique: true }
    const right = evaluated(matched(NUMBER), unique)
    const ambiguous = evaluated({ status: 'ambiguous' }, unique)
    const shared = evaluated({ status: 'ambiguous' }, { class: FORM_DROPPED })
    expect(isMet([...times(99, right), ambiguous, shared], 'matched where unique, 4')).to.equal(true)
    expect(isMet([...times(98, right), ambiguous], 'matched where unique, 4')).to.equal(false)
  })

  it('require long names with a typo at rank 1 and within rank 5', () => {
    const second = evaluated({ found: ['1', NUMBER] })
    const missed = evaluated({})
    const short = evaluated({}, { isLong: false })
    expect(isMet([...times(97, good), ...times(3, second), short], 'top 1, one typo')).to.equal(true)
    expect(isMet([...times(96, good), ...times(4, second)], 'top 1, one typo')).to.equal(false)
    expect(isMet([...times(99, good), missed], 'top 5, one typo')).to.equal(true)
    expect(isMet([...times(97, good), ...times(2, missed)], 'top 5, one typo')).to.equal(false)
  })

  it('leave classes out that are not recoverable', () => {
    const missing = evaluated({}, { class: classOf('9') })
    expect(isMet([good, ...times(50, missing)], 'top 5, all')).to.equal(true)
    expect(recoverableNote([good, missing])).to.equal('Not counted as recoverable: 9 a word omitted.')
  })

  it('are not measured without questions', () => {
    expect(isMet([evaluated({}, { class: WRONG_EIRCODE })], 'top 1, one typo')).to.equal(undefined)
  })
})

describe('the calibration', () => {
  it('counts right first candidates by score, also of questions about removed companies', () => {
    const right = evaluated({ found: [NUMBER] })
    const evaluations = [
      ...times(3, right),
      evaluated({ found: ['1', NUMBER] }),
      evaluated({ found: [NUMBER] }, { isRemoved: true, expected: undefined, accepted: [] }),
      evaluated({ found: [NUMBER] }, { class: WRONG_EIRCODE }),
      evaluated({ found: [] }),
    ]
    expect(sharesByScore(evaluations, ({ first }) => first)).to.deep.equal([{ from: 950, asked: 5, right: 3 }])
    const low = evaluations.map((each) => each.first && { ...each, first: { ...each.first, score: 499 } })
    const mixed = [...evaluations, ...low.filter((each) => each !== undefined)]
    expect(sharesByScore(mixed, ({ first }) => first).map(({ from }) => from)).to.deep.equal([950, 450])
  })
})
