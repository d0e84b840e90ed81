/** The questions of a run, with what is known of each answer before anybody is asked. */
import { parseOperation, type Operation } from '../../../agent/operation/schema.ts'
import { randomFor, type Random } from '../../../agent/sandbox/sample-random.ts'
import { CLASSES, NEGATIVES, type Perturbation, type QuestionClass } from './classes.ts'
import { typoWithEvidence, withRightEircode, type Asked } from './evidence.ts'
import { coreLength } from './names.ts'
import { invented, recombined } from './negatives.ts'
import type { Listed, Register } from './register.ts'
import type { Sampled } from './sample.ts'

/** Letters and digits from which a name with a typo can be told from others. */
const LONG_NAME_LENGTH = 8
/** Searches are asked for as many as a response can hold. */
const CANDIDATES = 10
/** Questions of a class whose names nobody has, for each company sampled. */
const NEGATIVES_RATIO = 0.5
const NEGATIVES_SEED_STEP = 7919

/** How companies are asked for that are not there any more. */
const OF_REMOVED: readonly { questionClass: QuestionClass; perturb: Perturbation }[] = [
  { questionClass: NEGATIVES.removed, perturb: (_random, { name }) => ({ name }) },
  { questionClass: NEGATIVES.removedWithEircode, perturb: withRightEircode },
  { questionClass: NEGATIVES.removedMistyped, perturb: typoWithEvidence },
]

export interface Question {
  class: QuestionClass
  asked: Asked
  search: Operation
  resolve: Operation
  /** The company that is meant; undefined when it is nobody on the register. */
  meant: Listed | undefined
  /** The numbers that are a right answer of a search: those that nobody could tell from the meant one by the query. */
  accepted: readonly string[]
  /** The name as asked, normalised, is that of the meant company and of no other. */
  isUnique: boolean
  /** The meant company's name has eight letters or more. */
  isLong: boolean
}

export interface Questions {
  questions: Question[]
  /** By class: questions that name another company exactly, as a typo in a number does. Nobody can be blamed for those. */
  namingAnother: Map<string, number>
}

interface Request {
  register: Register
  sample: readonly Sampled[]
  /** Companies that were taken out of the register. */
  removed: readonly Listed[]
  seed: number
}

/** Every class is put to every company sampled that it applies to; then the names that nobody has. */
export function makeQuestions({ register, sample, removed, seed }: Request): Questions {
  const result: Questions = { questions: [], namingAnother: new Map() }
  const take = (draft: Draft | undefined) => put(result, draft && finished(draft, register))
  for (const [stream, questionClass] of CLASSES.entries()) {
    for (const { company } of sample) {
      const random = randomFor(seed, Number(company.number), stream)
      const asked = questionClass.perturb?.(random, company)
      take(asked && { class: questionClass, asked, meant: company })
    }
  }
  const negatives = Math.ceil(sample.length * NEGATIVES_RATIO)
  const unlisted = (name: string) => (register.named(name).length === 0 ? { name } : undefined)
  const drafted = (kind: QuestionClass, make: (random: Random) => string) => {
    for (let index = 0; index < negatives; index += 1) {
      const asked = unlisted(make(randomFor(seed + NEGATIVES_SEED_STEP, index, CLASSES.length)))
      take(asked && { class: kind, asked, meant: undefined })
    }
  }
  drafted(NEGATIVES.recombined, (random) => recombined(random, register))
  drafted(NEGATIVES.invented, invented)
  for (const company of removed) {
    for (const { questionClass, perturb } of OF_REMOVED) {
      const asked = perturb(randomFor(seed, Number(company.number), CLASSES.length), company)
      // A twin that stayed has the name as well, and is meant as much by a slip in it.
      if (asked && register.named(company.name).length > 0) put(result, { namesAnother: questionClass.id })
      else take(asked && { class: questionClass, asked, meant: undefined })
    }
  }
  return result
}

interface Draft {
  class: QuestionClass
  asked: Asked
  meant: Listed | undefined
}

type Finished = Question | { namesAnother: string } | undefined

/** Undefined for what the product's input rules would refuse. */
function finished(draft: Draft, register: Register): Finished {
  const { asked, meant } = draft
  const named = register.named(asked.name)
  if (named.length > 0 && (!meant || !named.includes(meant.number))) return { namesAnother: draft.class.id }
  const { name: q, eircode } = asked
  const search = parseOperation('search', { q, limit: CANDIDATES, ...(eircode !== undefined && { eircode }) })
  const resolve = parseOperation('resolve', asked)
  if (!search.valid || !resolve.valid) return undefined
  return {
    ...draft,
    search: search.operation,
    resolve: resolve.operation,
    accepted: meant ? (named.length > 0 ? named : register.sameName(meant.name)) : [],
    isUnique: named.length === 1,
    isLong: meant !== undefined && coreLength(meant.name) >= LONG_NAME_LENGTH,
  }
}

function put({ questions, namingAnother }: Questions, made: Finished): void {
  if (!made) return
  if ('namesAnother' in made) namingAnother.set(made.namesAnother, (namingAnother.get(made.namesAnother) ?? 0) + 1)
  else questions.push(made)
}
