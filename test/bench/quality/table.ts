/** The results as Markdown: a line for each class, the targets, and the peers. */
import { markdown, percent } from '../targets.ts'
import { groupedBy } from './grouped.ts'
import { classesOf, isRecoverable, ofClass, share, tally, uniqueOf, type Tally } from './tally.ts'
import type { Sampled } from './sample.ts'
import type { Verdict } from './verdicts.ts'

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
  'names another',
]

export function classTable(verdicts: readonly Verdict[], namingAnother: ReadonlyMap<string, number>): string {
  const lines = classesOf(verdicts).map((each) =>
    line(`${each.id} ${each.label}`, tally(ofClass(verdicts, each)), namingAnother.get(each.id) ?? 0),
  )
  const another = [...namingAnother.values()].reduce((sum, count) => sum + count, 0)
  return markdown(HEADINGS, [...lines, line('all', tally(verdicts), another)])
}

function line(label: string, { asked, findable, top1, top5, top10, resolutions }: Tally, another: number): string[] {
  const { right, wrong, ambiguous, conflicting, no_match, refused } = resolutions
  return [
    label,
    String(asked),
    ...[top1, top5, top10].map((count) => percent(share(count, findable))),
    percent(share(right, asked)),
    `${wrong} (${percent(share(wrong, asked))})`,
    ...[ambiguous, conflicting, no_match].map((count) => percent(share(count, asked))),
    String(refused),
    String(another),
  ]
}

/** The classes that write the same name in other signs, where the name so written is one company's only. */
export function uniqueTable(verdicts: readonly Verdict[]): string {
  const lines = classesOf(verdicts)
    .filter(({ isSameName }) => isSameName)
    .map((each) => {
      const { asked, findable, top1, resolutions } = uniqueOf(verdicts, each)
      const matched = percent(share(resolutions.right, asked))
      return [`${each.id} ${each.label}`, String(asked), percent(share(top1, findable)), matched]
    })
  return markdown(['class', 'asked, one company of that name', 'top 1', 'matched right'], lines)
}

/** Which questions the last target counts, in words. */
export function recoverableNote(verdicts: readonly Verdict[]): string {
  const lost = classesOf(verdicts.filter(({ question }) => question.meant && !isRecoverable(question)))
  const names = lost.map(({ id, label, recoverable }) =>
    recoverable === 'never' ? `${id} ${label}` : `${id} ${label}, in names of fewer than eight letters`,
  )
  return `Not counted as recoverable: ${names.join('; ')}.`
}

/** How many companies of each kind were drawn. */
export function sampleNote(sample: readonly Sampled[]): string {
  const kinds = [...groupedBy(sample, ({ stratum }) => stratum)].map(([kind, ofKind]) => `${ofKind.length} ${kind}`)
  return `${sample.length} companies sampled: ${kinds.toSorted().join(', ')}`
}
