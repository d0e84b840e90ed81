/** Formats the results as Markdown tables. */
import { markdown, percent } from '../markdown.ts'
import { groupedBy } from './grouped.ts'
import { classesOf, isRecoverable, ofClass, share, tally, uniqueOf, type Tally } from './tally.ts'
import type { Sampled } from './sample.ts'
import type { Evaluation } from './evaluate.ts'

const HEADINGS = [
  'class',
  'asked',
  'top 1',
  'top 5',
  'top 10',
  'matched right',
  'matched wrong',
  'ambiguous',
  'conflicting',
  'no match',
  'refused',
  'collisions',
]

export function classTable(evaluations: readonly Evaluation[], collisions: ReadonlyMap<string, number>): string {
  const lines = classesOf(evaluations).map((each) =>
    line(`${each.id} ${each.label}`, tally(ofClass(evaluations, each)), collisions.get(each.id) ?? 0),
  )
  const collisionCount = [...collisions.values()].reduce((sum, count) => sum + count, 0)
  return markdown(HEADINGS, [...lines, line('all', tally(evaluations), collisionCount)])
}

/** The questions about removed companies, where every match is wrong. */
export function removedTable(evaluations: readonly Evaluation[]): string {
  const lines = [...classesOf(evaluations), undefined].map((each) => {
    const { asked, resolutions } = tally(each ? ofClass(evaluations, each) : evaluations)
    const { right, wrong, ambiguous, conflicting, no_match } = resolutions
    const label = each ? `${each.id} ${each.label}` : 'all'
    const shares = [ambiguous, conflicting, no_match].map((count) => percent(share(count, asked)))
    return [label, String(asked), String(right + wrong)].concat(shares)
  })
  return markdown(['class', 'asked', 'matched wrong', 'ambiguous', 'conflicting', 'no match'], lines)
}

function line(label: string, { asked, findable, top1, top5, top10, resolutions }: Tally, collisions: number): string[] {
  const { right, wrong, ambiguous, conflicting, no_match, refused } = resolutions
  return [
    label,
    String(asked),
    ...[top1, top5, top10].map((count) => percent(share(count, findable))),
    percent(share(right, asked)),
    `${wrong} (${percent(share(wrong, asked))})`,
    ...[ambiguous, conflicting, no_match].map((count) => percent(share(count, asked))),
    String(refused),
    String(collisions),
  ]
}

/** The classes with another notation of the same name, restricted to unique names. */
export function uniqueTable(evaluations: readonly Evaluation[]): string {
  const lines = classesOf(evaluations)
    .filter(({ isSameName }) => isSameName)
    .map((each) => {
      const { asked, findable, top1, resolutions } = uniqueOf(evaluations, each)
      const matched = percent(share(resolutions.right, asked))
      return [`${each.id} ${each.label}`, String(asked), percent(share(top1, findable)), matched]
    })
  return markdown(['class', 'asked, unique name', 'top 1', 'matched right'], lines)
}

/** States which questions the last target leaves out. */
export function recoverableNote(evaluations: readonly Evaluation[]): string {
  const lost = classesOf(evaluations.filter(({ question }) => question.expected && !isRecoverable(question)))
  const names = lost.map(({ id, label, recoverable }) =>
    recoverable === 'never' ? `${id} ${label}` : `${id} ${label}, in names of fewer than eight letters`,
  )
  return `Not counted as recoverable: ${names.join('; ')}.`
}

/** The number of sampled companies per stratum. */
export function sampleNote(sample: readonly Sampled[]): string {
  const kinds = [...groupedBy(sample, ({ stratum }) => stratum)].map(([kind, ofKind]) => `${ofKind.length} ${kind}`)
  return `${sample.length} companies sampled: ${kinds.toSorted().join(', ')}`
}
