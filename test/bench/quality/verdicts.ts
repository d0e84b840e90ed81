/** Asks the product a question twice, as a search and as a resolution, and judges both answers. */
import type { Named, Product, Resolved } from './product.ts'
import type { Question } from './questions.ts'

export type Resolution = 'right' | 'wrong' | 'ambiguous' | 'conflicting' | 'no_match' | 'refused'

export interface Verdict {
  question: Question
  /** The first place, from 0, that a search gave a right answer; undefined when it gave none. */
  place: number | undefined
  first: Named | undefined
  resolution: Resolution
  match: Named | undefined
}

export function judge(question: Question, product: Product): Verdict {
  const found = product.search(question.search) ?? []
  const place = found.findIndex(({ number }) => question.accepted.includes(number))
  const resolved = product.resolve(question.resolve)
  return {
    question,
    place: place === -1 ? undefined : place,
    first: found[0],
    resolution: resolutionOf(question, resolved),
    match: resolved.match,
  }
}

/** Of companies that share a name only the meant one is right: a match says there is no other. */
function resolutionOf({ class: { mustNotMatch }, meant }: Question, { status, match }: Resolved): Resolution {
  if (status !== 'matched') return status
  return !mustNotMatch && match?.number === meant?.number ? 'right' : 'wrong'
}
