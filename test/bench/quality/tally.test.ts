/** Answers of a product that is not there, judged and counted: known answers give known tables. */
import { expect } from 'chai'
import { aListed } from '../../support/listed.ts'
import { unpadded } from '../../support/unpadded.ts'
import { CLASSES, NEGATIVES, type QuestionClass } from './classes.ts'
import { debugText } from './debug.ts'
import type { Product, Resolved } from './product.ts'
import type { Question } from './questions.ts'
import { classTable, recoverableNote, uniqueTable } from './table.ts'
import { accuracyTargets, tally } from './tally.ts'
import { judge, type Verdict } from './verdicts.ts'

const TYPO = classOf('1')
const FORM_DROPPED = classOf('4')
const WRONG_EIRCODE = classOf('17')
const NUMBER = '42'

function classOf(id: string): QuestionClass {
  const found = CLASSES.find((each) => each.id === id)
  if (!found) throw new Error(`There is no class ${id}`)
  return found
}

function question(change: Partial<Question> = {}): Question {
  return {
    class: TYPO,
    asked: { name: 'ACNE LIMITED' },
    search: { operation: 'search', input: { q: 'ACNE LIMITED', limit: 10 } },
    resolve: { operation: 'resolve', input: { name: 'ACNE LIMITED' } },
    meant: aListed(NUMBER, 'ACME LIMITED'),
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
  const named = (number: string) => ({ number, name: `COMPANY ${number}` })
  return {
    search: () => found.map(named),
    resolve: () => ({ status, match: matched === undefined ? undefined : named(matched) }),
    matchingVersion: () => undefined,
  }
}

const judged = (answers: Answers, change: Partial<Question> = {}): Verdict => judge(question(change), fake(answers))
const matched = (number: string): Answers => ({ status: 'matched', matched: number })
const isMet = (verdicts: readonly Verdict[], target: string) =>
  accuracyTargets(verdicts).find((each) => each.target.startsWith(target))?.isMet
const times = (count: number, verdict: Verdict): Verdict[] => Array.from({ length: count }, () => verdict)

describe('an answer is judged', () => {
  it('by the first place of a right company', () => {
    expect(judged({ found: [NUMBER] }).place).to.equal(0)
    expect(judged({ found: ['1', '2', NUMBER] }).place).to.equal(2)
    expect(judged({ found: ['1', '43', NUMBER] }, { accepted: [NUMBER, '43'] }).place).to.equal(1)
    expect(judged({ found: ['1', '2'] }).place).to.equal(undefined)
  })

  it('by the company that is matched, and only the meant one is right', () => {
    expect(judged(matched(NUMBER)).resolution).to.equal('right')
    expect(judged(matched('43')).resolution).to.equal('wrong')
    expect(judged(matched('43'), { accepted: [NUMBER, '43'] }).resolution).to.equal('wrong')
  })

  it('as wrong for every match where there must be none', () => {
    expect(judged(matched(NUMBER), { class: WRONG_EIRCODE }).resolution).to.equal('wrong')
    expect(judged(matched(NUMBER), { class: NEGATIVES.removed, meant: undefined }).resolution).to.equal('wrong')
  })

  for (const status of ['ambiguous', 'conflicting', 'no_match', 'refused'] as const) {
    it(`as ${status} when it says so`, () => expect(judged({ status }).resolution).to.equal(status))
  }
})

describe('verdicts are counted', () => {
  const verdicts = [
    judged({ found: [NUMBER], ...matched(NUMBER) }),
    judged({ found: ['1', NUMBER], status: 'ambiguous' }),
    judged({ found: ['1', '2', '3', '4', '5', NUMBER], ...matched('1') }),
    judged({ found: ['1'], status: 'no_match' }),
    judged({ found: ['1'], ...matched('1') }, { class: NEGATIVES.invented, meant: undefined, accepted: [] }),
  ]

  it('with the places of those that can be found, and the resolutions of all', () => {
    expect(tally(verdicts)).to.deep.equal({
      asked: 5,
      findable: 4,
      top1: 1,
      top5: 2,
      top10: 3,
      resolutions: { right: 1, wrong: 2, ambiguous: 1, conflicting: 0, no_match: 1, refused: 0 },
    })
  })

  it('in a line for each class that was asked and one for all', () => {
    const lines = unpadded(classTable(verdicts, new Map([['1', 7]])))
    expect(lines.slice(2)).to.deep.equal([
      '| 1 one typo | 4 | 25 % | 50 % | 75 % | 25 % | 1 (25 %) | 25 % | 0 % | 25 % | 0 | 7 |',
      '| n2 not registered: invented words | 1 | - | - | - | 0 % | 1 (100 %) | 0 % | 0 % | 0 % | 0 | 0 |',
      '| all | 5 | 25 % | 50 % | 75 % | 20 % | 2 (40 %) | 20 % | 0 % | 20 % | 0 | 7 |',
    ])
  })

  it('apart where one company has the name as asked', () => {
    const found = { found: [NUMBER], ...matched(NUMBER) }
    const some = [
      judged(found, { class: FORM_DROPPED, isUnique: true }),
      judged({ status: 'ambiguous' }, { class: FORM_DROPPED, isUnique: true }),
      judged({ status: 'ambiguous' }, { class: FORM_DROPPED }),
    ]
    expect(unpadded(uniqueTable(some)).at(-1)).to.equal('| 4 legal form left out | 2 | 50 % | 50 % |')
  })

  it('with the wrong ones and the misses by name', () => {
    const text = debugText(verdicts)
    expect(text).to.include('matched wrong: 2').and.include('not first in a search: 3')
    expect(text).to.include('1\tasked {"name":"ACNE LIMITED"}\tmeant 42 ACME LIMITED\tgot 1 COMPANY 1\twrong')
    expect(text).to.include('n2\tasked {"name":"ACNE LIMITED"}\tmeant nobody\tgot 1 COMPANY 1\twrong')
  })
})

describe('the targets', () => {
  const good = judged({ found: [NUMBER], ...matched(NUMBER) })
  const wrong = judged({ found: [NUMBER], ...matched('1') })

  it('allow one wrong match in a thousand, and no more', () => {
    expect(isMet([...times(999, good), wrong], 'wrong matches, all')).to.equal(true)
    expect(isMet([...times(998, good), wrong, wrong], 'wrong matches, all')).to.equal(false)
  })

  it('allow one in two hundred in a class, however many others are right', () => {
    const ofClass = (verdict: Verdict) => ({ ...verdict, question: question({ class: FORM_DROPPED }) })
    const others = times(10_000, good)
    expect(isMet([...others, ...times(199, ofClass(good)), ofClass(wrong)], 'wrong matches in the')).to.equal(true)
    const missed = [...others, ...times(198, ofClass(good)), ofClass(wrong)]
    expect(isMet(missed, 'wrong matches in the worst class, 4 legal form left out')).to.equal(false)
  })

  it('refuse a service that refuses', () => {
    expect(isMet([good], 'refused')).to.equal(true)
    expect(isMet([good, judged({ status: 'refused' })], 'refused')).to.equal(false)
  })

  it('want 99 of 100 matched of the same name, where it is unique', () => {
    const unique = { class: FORM_DROPPED, isUnique: true }
    const right = judged(matched(NUMBER), unique)
    const ambiguous = judged({ status: 'ambiguous' }, unique)
    const shared = judged({ status: 'ambiguous' }, { class: FORM_DROPPED })
    expect(isMet([...times(99, right), ambiguous, shared], 'matched where unique, 4')).to.equal(true)
    expect(isMet([...times(98, right), ambiguous], 'matched where unique, 4')).to.equal(false)
  })

  it('want long names with a typo first and among five', () => {
    const second = judged({ found: ['1', NUMBER] })
    const missed = judged({})
    const short = judged({}, { isLong: false })
    expect(isMet([...times(97, good), ...times(3, second), short], 'top 1, one typo')).to.equal(true)
    expect(isMet([...times(96, good), ...times(4, second)], 'top 1, one typo')).to.equal(false)
    expect(isMet([...times(99, good), missed], 'top 5, one typo')).to.equal(true)
    expect(isMet([...times(97, good), ...times(2, missed)], 'top 5, one typo')).to.equal(false)
  })

  it('count a word missing among no one`s faults', () => {
    const missing = judged({}, { class: classOf('9') })
    expect(isMet([good, ...times(50, missing)], 'top 5, all')).to.equal(true)
    expect(recoverableNote([good, missing])).to.equal('Not counted as recoverable: 9 a word missing.')
  })

  it('are not measured where nothing was asked', () => {
    expect(isMet([judged({}, { class: WRONG_EIRCODE })], 'top 1, one typo')).to.equal(undefined)
  })
})
