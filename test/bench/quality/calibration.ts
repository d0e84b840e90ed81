/** The share of right first candidates by score: what a score says about a candidate. */
import { markdown, percent } from '../markdown.ts'
import type { Evaluation } from './evaluate.ts'
import type { Named } from './product.ts'
import { share } from './tally.ts'

/** Points of a score that are counted together. */
const STEP = 50
/** With fewer answers, a share says nothing. */
const SHOWN_MIN = 20

interface ScoreShare {
  /** The lowest score that is counted. */
  from: number
  asked: number
  right: number
}

/** By score, highest first. A first candidate is right only if it is the company that the question is about. */
function sharesByScore(
  evaluations: readonly Evaluation[],
  firstOf: (evaluation: Evaluation) => Named | undefined,
): ScoreShare[] {
  const counts = new Map<number, ScoreShare>()
  for (const evaluation of evaluations) {
    const first = firstOf(evaluation)
    if (!first || contradicts(evaluation)) continue
    const from = Math.floor(first.score / STEP) * STEP
    const count = counts.get(from) ?? { from, asked: 0, right: 0 }
    count.asked += 1
    if (isRight(evaluation, first)) count.right += 1
    counts.set(from, count)
  }
  return [...counts.values()].toSorted((one, other) => other.from - one.from)
}

/** Whether the question states something else than the register on purpose, such as another legal form. */
function contradicts({ question: { expected, class: asked } }: Evaluation): boolean {
  return asked.mustNotMatch === true && expected !== undefined
}

function isRight({ question: { expected, accepted } }: Evaluation, { number }: Named): boolean {
  return expected !== undefined && accepted.includes(number)
}

export function calibrationTable(evaluations: readonly Evaluation[]): string {
  const search = sharesByScore(evaluations, ({ first }) => first)
  const resolve = sharesByScore(evaluations, ({ resolved }) => resolved)
  const scores = [...new Set([...search, ...resolve].map(({ from }) => from))].toSorted((one, other) => other - one)
  const cells = (shares: readonly ScoreShare[], wanted: number) => {
    const { asked, right } = shares.find(({ from }) => from === wanted) ?? { asked: 0, right: 0 }
    return [String(asked), asked < SHOWN_MIN ? '-' : percent(share(right, asked))]
  }
  const lines = scores.map((from) =>
    [from >= 1000 ? '1000' : `${from} to ${from + STEP - 1}`].concat(cells(search, from), cells(resolve, from)),
  )
  return markdown(['score of the first candidate', 'search', 'right', 'resolve', 'right'], lines)
}
