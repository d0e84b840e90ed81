/** Makes the questions of a run, each with its right answers. */
import { hash } from 'node:crypto'
import { parseOperation, type Operation, type SingleDefinition } from '../../../agent/operation/operation.ts'
import { below, pick, randomFor, type Random } from '../../support/random.ts'
import { CLASSES, NEGATIVES, type QueryInput, type QuestionClass } from './classes.ts'
import { coreWords, partsOf } from './names.ts'
import type { BenchCompany, ReferenceRegister } from './register.ts'
import { findNeighbour } from './sample.ts'
import { singleOf } from '../../support/operations.ts'

/** Letters and digits of a name that stays recognisable with a typo. */
const LONG_NAME_LENGTH = 8
/** The maximum of a search. */
const CANDIDATES = 10
/** Questions per class of unregistered names and sampled company. */
const NEGATIVES_RATIO = 0.5
const NEGATIVES_SEED_STEP = 7919

interface Draft {
  class: QuestionClass
  asked: QueryInput
  /** Undefined when no registered company is the right answer. */
  expected: BenchCompany | undefined
  /** Whether the question is about a company that was removed from the register. Every match is wrong. */
  isRemoved?: boolean
}

export interface Question extends Draft {
  search: Operation<SingleDefinition>
  resolve: Operation<SingleDefinition>
  /** The right search results: companies that the query does not distinguish from the expected one. */
  accepted: readonly string[]
  /** Whether only the expected company has the name as asked, after normalisation and without other text. */
  isUnique: boolean
  /** Whether the name of the expected company has at least eight letters. */
  isLong: boolean
}

interface QuestionsRequest {
  register: ReferenceRegister
  sample: readonly BenchCompany[]
  removed: readonly BenchCompany[]
  seed: number
}

/** Applies every class to every sampled and removed company, then adds the unregistered names. */
export function makeQuestions({ register, sample, removed, seed }: QuestionsRequest): Question[] {
  const drafts: Draft[] = []
  const ask = (company: BenchCompany, isRemoved: boolean) => {
    for (const [stream, asked] of CLASSES.entries()) {
      const query = asked.perturb?.(randomFor(seed, Number(company.number), stream), company, register)
      const input = typeof query === 'string' ? { name: query } : query
      const isChanged = typeof query !== 'string' || query !== company.name
      if (input && isChanged)
        drafts.push({ class: asked, asked: input, isRemoved, expected: isRemoved ? undefined : company })
    }
  }
  for (const company of sample) ask(company, false)
  // A company whose name another one still has is a right answer even with a typo.
  for (const company of removed) if (register.named(company.name).length === 0) ask(company, true)

  const { recombined: mixed, invented: unknown, tradingName, otherNumber } = NEGATIVES
  for (let index = 0; index < sample.length * NEGATIVES_RATIO; index += 1) {
    const random = randomFor(seed + NEGATIVES_SEED_STEP, index, CLASSES.length)
    const registered = partsOf(pick(random, register.companies).name).core
    drafts.push(
      { class: mixed, asked: { name: recombined(random, register) }, expected: undefined },
      { class: unknown, asked: { name: invented(random) }, expected: undefined },
      { class: tradingName, asked: { name: `${invented(random)} T/A ${registered}` }, expected: undefined },
    )
  }
  for (const company of sample) {
    const neighbour = findNeighbour(company.name, register)
    const asked = { name: company.name, company_number: neighbour ?? '' }
    if (neighbour !== undefined) drafts.push({ class: otherNumber, asked, expected: company })
  }
  return drafts.flatMap((draft) => complete(draft, register) ?? [])
}

/** Undefined for input that the service rejects, and for a query that is exactly the name of another company. */
function complete(draft: Draft, register: ReferenceRegister): Question | undefined {
  const { class: asking, asked, expected } = draft
  const { name: q, eircode } = asked
  const named = register.named(q)
  if (named.length > 0 && (!expected || !named.includes(expected.number))) return undefined
  const search = parseOperation(singleOf('search'), { q, limit: CANDIDATES, ...(eircode !== undefined && { eircode }) })
  const resolve = parseOperation(singleOf('resolve'), asked)
  if (search.kind === 'invalid' || resolve.kind === 'invalid') return undefined
  const accepted = expected ? acceptedFor(draft, expected, register) : []
  return {
    ...draft,
    search: search.operation,
    resolve: resolve.operation,
    accepted,
    isUnique: (asking.sameName === 'alone' ? named : accepted).length === 1,
    isLong: expected !== undefined && coreWords(expected.name).join('').length >= LONG_NAME_LENGTH,
  }
}

/** All companies that the query fits as well as the expected one. */
function acceptedFor({ class: asking, asked }: Draft, expected: BenchCompany, register: ReferenceRegister): string[] {
  const named = register.named(asked.name)
  if (asking.accepted) return [...asking.accepted(register, asked.name).map(({ number }) => number), ...named]
  return named.length > 0 ? named : register.sameName(expected.name)
}

/** The half of a question. All questions about one company are in the same half. */
export function halfOf({ asked, expected }: Question, seed: number): 'tuning' | 'report' {
  const [byte = 0] = hash('sha256', `${seed} ${expected?.number ?? asked.name}`, 'buffer')
  return byte % 2 === 0 ? 'tuning' : 'report'
}

const ONSETS = 'b br c cl d dr f g gl k l m n p qu s st t tr v z'.split(' ')
const VOWELS = 'a e i o u ea io ou'.split(' ')
const ENDS = ['', 'l', 'n', 'r', 's', 'x', 'nd', 'rk', 'th']
const TRADES = ['SERVICES', 'CONSULTING', 'FOODS', 'ENGINEERING', 'HOLDINGS', 'MEDIA'] as const

/** The first half of one company name and the second half of another. */
function recombined(random: Random, { companies }: ReferenceRegister): string {
  const [beginning, end] = [pick(random, companies), pick(random, companies)].map(({ name }) =>
    partsOf(name).core.split(' '),
  ) as [string[], string[]]
  const kept = beginning.slice(0, Math.max(1, Math.ceil(beginning.length / 2)))
  const added = end.slice(-Math.max(1, Math.floor(end.length / 2)))
  return [...kept, ...added, 'LIMITED'].join(' ')
}

function invented(random: Random): string {
  const words = Array.from({ length: 1 + below(random, 2) }, () => inventedWord(random))
  return [...words, pick(random, TRADES), 'LIMITED'].join(' ')
}

function inventedWord(random: Random): string {
  const syllables = Array.from({ length: 2 + below(random, 2) }, () =>
    [ONSETS, VOWELS, ENDS].map((part) => pick(random, part)).join(''),
  )
  return syllables.join('').toUpperCase()
}
