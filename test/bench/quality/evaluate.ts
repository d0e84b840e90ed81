/** Runs a question as a search and as a resolve, and evaluates both answers. */
import type { Named, Product, Resolved } from './product.ts'
import type { Question } from './questions.ts'

export type Resolution = 'right' | 'wrong' | 'ambiguous' | 'conflicting' | 'no_match' | 'refused'

export interface Evaluation {
  question: Question
  /** The rank, from 0, of the first correct search result; undefined without one. */
  rank: number | undefined
  first: Named | undefined
  resolution: Resolution
  match: Named | undefined
  /** The first candidate of the resolution. */
  resolved: Named | undefined
}

export function evaluate(question: Question, product: Product): Evaluation {
  const found = product.search(question.search) ?? []
  const rank = found.findIndex(({ number }) => question.accepted.includes(number))
  const resolved = product.resolve(question.resolve)
  return {
    question,
    rank: rank === -1 ? undefined : rank,
    first: found[0],
    resolution: resolutionOf(question, resolved),
    match: resolved.match,
    resolved: resolved.first,
  }
}

/** Among companies with one name only the expected one is right, because a match claims to be unique. */
function resolutionOf({ class: { mustNotMatch }, expected }: Question, { status, match }: Resolved): Resolution {
  if (status !== 'matched') return status
  return !mustNotMatch && match?.number === expected?.number ? 'right' : 'wrong'
}
