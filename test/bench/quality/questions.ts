/** Makes the questions of a run, each with its right answers. */
import { hash } from 'node:crypto'
import { parseOperation } from '../../../agent/operation/operations.ts'
import type { Operation } from '../../../agent/operation/operation.ts'
import { pick, randomFor, type Random } from '../../../agent/sandbox/sample-random.ts'
import { CLASSES, NEGATIVES, type QuestionClass } from './classes.ts'
import type { QueryInput } from './evidence.ts'
import { coreLength, fold, partsOf } from './names.ts'
import { invented, recombined } from './negatives.ts'
import type { BenchCompany, ReferenceRegister } from './register.ts'
import { findNeighbour, type Sampled } from './sample.ts'

/** Letters and digits of a name that stays recognisable with a typo. */
const LONG_NAME_LENGTH = 8
/** The maximum of a search. */
const CANDIDATES = 10
/** Questions per class of unregistered names and sampled company. */
const NEGATIVES_RATIO = 0.5
const NEGATIVES_SEED_STEP = 7919

export interface Question {
  class: QuestionClass
  asked: QueryInput
  search: Operation
  resolve: Operation
  /** Undefined when no registered company is the right answer. */
  expected: BenchCompany | undefined
  /** Whether the question is about a company that was removed from the register. Every match is wrong. */
  isRemoved: boolean
  /** The right search results: companies that the query does not distinguish from the expected one. */
  accepted: readonly string[]
  /** Whether only the expected company has the name as asked, after normalisation and without other text. */
  isUnique: boolean
  /** Whether the name of the expected company has at least eight letters. */
  isLong: boolean
}

export interface Questions {
  questions: Question[]
  /** By class: queries that are exactly the name of another company. They have no right answer and are not asked. */
  collisions: Map<string, number>
}

interface QuestionsRequest {
  register: ReferenceRegister
  sample: readonly Sampled[]
  removed: readonly BenchCompany[]
  seed: number
  /** Names that may be registered; the others must not match. */
  unlisted?: readonly string[]
  /** The ids of the classes that are asked; all by default. */
  classes?: ReadonlySet<string> | undefined
  /** The most questions of a class about registered companies, and about removed ones. */
  classMax?: number
}

/** Applies every class to every sampled and removed company, then adds the unregistered names. */
export function makeQuestions(request: QuestionsRequest): Questions {
  const { register, sample, removed, seed, unlisted = [], classes, classMax = Number.POSITIVE_INFINITY } = request
  const isAsked = ({ id }: QuestionClass) => classes?.has(id) ?? true
  const questions: Question[] = []
  const collisions = new Map<string, number>()
  const addCollision = (id: string) => collisions.set(id, (collisions.get(id) ?? 0) + 1)
  const add = (draft: Omit<Draft, 'isRemoved'> & { isRemoved?: boolean }) => {
    const { class: questionClass, asked, expected, isRemoved = false } = draft
    const named = register.named(asked.name)
    if (named.length > 0 && (!expected || !named.includes(expected.number))) addCollision(questionClass.id)
    else questions.push(...complete({ class: questionClass, asked, expected, isRemoved }, named, register))
  }
  const ask = (companies: Iterable<BenchCompany>, isRemoved: boolean) => {
    for (const [stream, questionClass] of CLASSES.entries()) {
      if (!isAsked(questionClass)) continue
      const end = questions.length + classMax
      for (const company of companies) {
        if (questions.length >= end) break
        const asked = questionClass.perturb?.(randomFor(seed, Number(company.number), stream), company, register)
        if (asked) add({ class: questionClass, asked, isRemoved, expected: isRemoved ? undefined : company })
      }
    }
  }
  ask(
    sample.map(({ company }) => company),
    false,
  )
  // A company whose name another one still has is a right answer even with a typo.
  ask(
    removed.filter(({ name }) => register.named(name).length === 0),
    true,
  )
  if (classes) return { questions, collisions }

  const count = Math.ceil(sample.length * NEGATIVES_RATIO)
  const addUnregistered = (questionClass: QuestionClass, make: (random: Random) => string) => {
    for (let index = 0; index < count; index += 1) {
      const name = make(randomFor(seed + NEGATIVES_SEED_STEP, index, CLASSES.length))
      if (register.named(name).length === 0) add({ class: questionClass, asked: { name }, expected: undefined })
    }
  }
  addUnregistered(NEGATIVES.recombined, (random) => recombined(random, register))
  addUnregistered(NEGATIVES.invented, invented)
  addUnregistered(
    NEGATIVES.tradingName,
    (random) => `${invented(random)} T/A ${partsOf(pick(random, register.companies).name).core}`,
  )
  for (const name of unlisted)
    if (register.named(name).length === 0) add({ class: NEGATIVES.listed, asked: { name }, expected: undefined })
  for (const { company } of sample) {
    const neighbour = findNeighbour(fold(partsOf(company.name).core), register)
    const asked = { name: company.name, company_number: neighbour ?? '' }
    if (neighbour !== undefined) add({ class: NEGATIVES.otherNumber, asked, expected: company })
  }
  return { questions, collisions }
}

type Draft = Pick<Question, 'class' | 'asked' | 'expected' | 'isRemoved'>

/** All companies that the query fits as well as the expected one. */
function acceptedFor(
  questionClass: QuestionClass,
  {
    asked,
    expected,
    named,
    register,
  }: { asked: QueryInput; expected: BenchCompany; named: readonly string[]; register: ReferenceRegister },
): readonly string[] {
  if (questionClass.accepted) return [...questionClass.accepted(register, asked.name), ...named]
  return named.length > 0 ? named : register.sameName(expected.name)
}

/** Returns nothing for input that the service rejects. */
function complete(draft: Draft, named: readonly string[], register: ReferenceRegister): Question[] {
  const { asked, expected } = draft
  const { name: q, eircode } = asked
  const accepted = expected ? acceptedFor(draft.class, { asked, expected, named, register }) : []
  const search = parseOperation('search', { q, limit: CANDIDATES, ...(eircode !== undefined && { eircode }) })
  const resolve = parseOperation('resolve', asked)
  if (search.kind === 'invalid' || resolve.kind === 'invalid') return []
  const question = {
    ...draft,
    search: search.operation,
    resolve: resolve.operation,
    accepted,
    isUnique: (draft.class.hasOtherText ? accepted : named).length === 1,
    isLong: expected !== undefined && coreLength(expected.name) >= LONG_NAME_LENGTH,
  }
  return [question]
}

export type Half = 'tuning' | 'report'

/** The half of a question. All questions about one company are in the same half. */
export function halfOf({ asked, expected }: Pick<Question, 'asked' | 'expected'>, seed: number): Half {
  const [byte = 0] = hash('sha256', `${seed} ${expected?.number ?? asked.name}`, 'buffer')
  return byte % 2 === 0 ? 'tuning' : 'report'
}
