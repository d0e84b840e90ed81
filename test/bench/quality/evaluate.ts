/** Asks the skills a question as a search and as a resolve, without HTTP and payment, and evaluates both answers. */
import type { Operation, SingleDefinition } from '../../../agent/operation/operation.ts'
import { resolveResponseSchema } from '../../../agent/operation/resolve.ts'
import type { Candidate } from '../../../agent/operation/result.ts'
import { searchResponseSchema } from '../../../agent/operation/search.ts'
import type { AnswerContext } from '../../../agent/answer/registers.ts'
import { prepareAnswer } from '../../../agent/answer/answers.ts'
import type { Question } from './questions.ts'

export type Named = ReturnType<typeof toNamed>
type Resolution = 'right' | 'wrong' | 'ambiguous' | 'conflicting' | 'no_match' | 'refused'
export type Evaluation = ReturnType<typeof evaluate>

export function evaluate(question: Question, context: AnswerContext) {
  const found = search(question.search, context)
  const rank = found.findIndex(({ number }) => question.accepted.includes(number))
  const { status, match, first } = resolve(question.resolve, context)
  // Among companies with one name only the expected one is right, because a match claims to be unique.
  const isRight = question.class.mustNotMatch !== true && match?.number === question.expected?.number
  const resolution: Resolution = status === 'matched' ? (isRight ? 'right' : 'wrong') : status
  return {
    question,
    /** The rank, from 0, of the first correct search result; undefined without one. */
    rank: rank === -1 ? undefined : rank,
    first: found[0],
    resolution,
    match,
    /** The first candidate of the resolution. */
    resolved: first,
  }
}

/** Nothing if the search is refused. */
function search(operation: Operation<SingleDefinition>, context: AnswerContext): Named[] {
  const prepared = prepareAnswer(operation, context)
  if (prepared.kind === 'refused') return []
  return searchResponseSchema.parse(JSON.parse(prepared.body)).candidates.map(toNamed)
}

/** `first`: the first candidate, whatever the status. */
function resolve(operation: Operation<SingleDefinition>, context: AnswerContext) {
  const prepared = prepareAnswer(operation, context)
  if (prepared.kind === 'refused') {
    const status = prepared.refusal.code === 'company_not_found' ? 'no_match' : 'refused'
    return { status, match: undefined, first: undefined } as const
  }
  const { status, match, candidates } = resolveResponseSchema.parse(JSON.parse(prepared.body))
  return { status, match: match ? toNamed(match) : undefined, first: candidates.map(toNamed)[0] }
}

function toNamed({ company, score }: Candidate) {
  return { number: company.company_number, name: company.legal_name, score }
}
