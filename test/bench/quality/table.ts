/** Formats the results: tables by class and by score, and the failures for --debug. */
import type { Evaluation, Named } from './evaluate.ts'
import { byPresence, classesOf, isRecoverable, ofClass, tally } from './tally.ts'
import { markdown, percent } from '../report.ts'

const HEADINGS = [
  'class',
  'not recoverable',
  'asked',
  'top 1',
  'top 5',
  'matched right',
  'matched wrong',
  'ambiguous',
  'conflicting',
  'no match',
  'removed: asked',
  'matched wrong',
  'no match',
]

/** The last columns are about companies that were removed from the register. */
export function classTable(evaluations: readonly Evaluation[]): string {
  const { present, removed } = byPresence(evaluations)
  const lines = classesOf(evaluations).map(({ id, label, unrecognisable = '-' }) =>
    [`${id} ${label}`, unrecognisable].concat(cells(ofClass(present, id), ofClass(removed, id))),
  )
  return markdown(HEADINGS, [...lines, ['all', '', ...cells(present, removed)]])
}

function cells(present: readonly Evaluation[], removed: readonly Evaluation[]): string[] {
  const { asked, top1, top5, wrong, shareOf } = tally(present)
  const ofRemoved = tally(removed)
  return [
    String(asked),
    percent(top1),
    percent(top5),
    percent(shareOf('right')),
    `${wrong} (${percent(shareOf('wrong'))})`,
    ...(['ambiguous', 'conflicting', 'no_match'] as const).map((resolution) => percent(shareOf(resolution))),
    String(ofRemoved.asked),
    String(ofRemoved.wrong),
    percent(ofRemoved.shareOf('no_match')),
  ]
}

/** Points of a score that are counted together. */
const STEP = 50
/** With fewer answers, a share says nothing. */
const SHOWN_MIN = 20

/** The share of first candidates that are the company that was meant, by score. */
export function scoreTable(evaluations: readonly Evaluation[]): string {
  // A question that states something else than the register on purpose, such as another legal form, is left out.
  const asked = evaluations.filter(
    ({ question: { class: asking, expected } }) => asking.mustNotMatch !== true || expected === undefined,
  )
  const sides = [(each: Evaluation) => each.first, (each: Evaluation) => each.resolved]
  const stepOf = (named: Named | undefined) => named && Math.floor(named.score / STEP) * STEP
  const steps = new Set(sides.flatMap((side) => asked.map((each) => stepOf(side(each)))))
  const lines = [...steps]
    .filter((step) => step !== undefined)
    .toSorted((one, other) => other - one)
    .map((from) => {
      const counts = sides.flatMap((side) => {
        const all = asked.filter((each) => stepOf(side(each)) === from)
        const right = all.filter((each) => each.question.accepted.includes(side(each)?.number ?? ''))
        return [String(all.length), all.length < SHOWN_MIN ? '-' : percent(right.length / all.length)]
      })
      return [from >= 1000 ? '1000' : `${from} to ${from + STEP - 1}`].concat(counts)
    })
  return markdown(['score of the first candidate', 'search', 'right', 'resolve', 'right'], lines)
}

/** The wrong matches, missing matches and missed search results, one a line. */
export function failures(evaluations: readonly Evaluation[]): string {
  const failed = evaluations.filter(
    ({ question, resolution, rank }) =>
      resolution === 'wrong' ||
      (question.class.sameName && question.isUnique && resolution !== 'right') ||
      (isRecoverable(question) && rank !== 0),
  )
  return failed
    .map(({ question: { class: asking, asked, expected }, resolution, rank, match, first }) =>
      JSON.stringify({ class: asking.id, asked, expected, resolution, rank, match, first }),
    )
    .join('\n')
}
