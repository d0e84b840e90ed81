/** Counts evaluations and compares them with the targets of docs/accuracy.md. */
import { CLASSES, NEGATIVES, type QuestionClass } from './classes.ts'
import type { Evaluation } from './evaluate.ts'
import type { Question } from './questions.ts'
import { percent, type Target } from '../report.ts'

/** Shares are NaN if nothing was asked; a target then counts as not measured. */
export function tally(evaluations: readonly Evaluation[]) {
  const asked = evaluations.length
  const findable = evaluations.filter(({ question }) => question.expected)
  const within = (count: number) => findable.filter(({ rank = Infinity }) => rank < count).length / findable.length
  const countOf = (wanted: Evaluation['resolution']) =>
    evaluations.filter(({ resolution }) => resolution === wanted).length
  const shareOf = (wanted: Evaluation['resolution']) => countOf(wanted) / asked
  return { asked, top1: within(1), top5: within(5), wrong: countOf('wrong'), shareOf }
}

export function ofClass(evaluations: readonly Evaluation[], id: string): Evaluation[] {
  return evaluations.filter(({ question }) => question.class.id === id)
}

/** One match in 20,000. */
const WRONG_SHARE_MAX = 0.00005
const WRONG_SHARE_OF_CLASS_MAX = 0.002
/** For names that are not on the register. */
const NO_MATCH_MIN = 0.8
const SAME_NAME_MATCHED_MIN = 0.99
const TYPO_TOP1_MIN = 0.97
const TYPO_TOP5_MIN = 0.99
const TOP5_MIN = 0.97

/** Separates the questions about companies that were removed from the register. */
export function byPresence(evaluations: readonly Evaluation[]) {
  return {
    present: evaluations.filter(({ question }) => question.isRemoved !== true),
    removed: evaluations.filter(({ question }) => question.isRemoved === true),
  }
}

/** The measured promises of docs/accuracy.md, with their targets as it writes them. */
export const ACCURACY_PROMISES: readonly (readonly [promise: string, target: string])[] = [
  [
    '`resolve` does not match the wrong company, of all benchmark queries about companies in the register',
    `at most 1 in ${(1 / WRONG_SHARE_MAX).toLocaleString('en')}`,
  ],
  [
    'the same, of queries about companies that were removed from the register',
    `at most 1 in ${(1 / WRONG_SHARE_MAX).toLocaleString('en')}`,
  ],
  ['the same, in the worst query class', `at most ${percent(WRONG_SHARE_OF_CLASS_MAX)}`],
  [
    'a name with other case, accents, punctuation, legal form or explained text matches when it is unique',
    `at least ${percent(SAME_NAME_MATCHED_MIN)} per query class`,
  ],
  [
    '`resolve` answers `no_match` for a name that is not on the register, else `ambiguous`',
    `at least ${percent(NO_MATCH_MIN)}`,
  ],
  [
    '`search` returns the right company first for one typo in a name of eight letters or more',
    `at least ${percent(TYPO_TOP1_MIN)}, among the first five ${percent(TYPO_TOP5_MIN)}`,
  ],
  [
    '`search` returns the right company among the first five whenever enough of the name is left',
    `at least ${percent(TOP5_MIN)}`,
  ],
]

/** What a run has measured of them, most important first. Without evaluations, the targets alone. */
export function accuracyTargets(evaluations: readonly Evaluation[]): Target[] {
  const { present, removed } = byPresence(evaluations)
  const wrongShare = (list: readonly Evaluation[]) => tally(list).shareOf('wrong')
  const [worst] = classesOf(evaluations)
    .map(({ id, label }) => ({ name: `${id} ${label}`, wrong: wrongShare(ofClass(evaluations, id)) }))
    .toSorted((one, other) => other.wrong - one.wrong)
  const typos = tally(ofClass(evaluations, '1').filter(({ question }) => question.isLong))
  return [
    atMost('wrong matches, the company is in the register', wrongShare(present), WRONG_SHARE_MAX),
    atMost('wrong matches, the company is removed', wrongShare(removed), WRONG_SHARE_MAX),
    atMost('wrong matches in the worst class', worst?.wrong ?? Number.NaN, WRONG_SHARE_OF_CLASS_MAX, worst?.name),
    atMost('refused, all questions', tally(evaluations).shareOf('refused'), 0),
    ...CLASSES.filter(({ sameName }) => sameName).map(({ id, label }) => {
      const unique = ofClass(present, id).filter(({ question }) => question.isUnique)
      return atLeast(`matched where unique, ${id} ${label}`, tally(unique).shareOf('right'), SAME_NAME_MATCHED_MIN)
    }),
    atLeast('no match, name of a removed company', tally(ofClass(removed, '0')).shareOf('no_match'), NO_MATCH_MIN),
    atLeast('top 1, one typo in eight letters or more', typos.top1, TYPO_TOP1_MIN),
    atLeast('top 5, one typo in eight letters or more', typos.top5, TYPO_TOP5_MIN),
    atLeast(
      'top 5, all recoverable questions',
      tally(evaluations.filter(({ question }) => isRecoverable(question))).top5,
      TOP5_MIN,
    ),
  ]
}

/** Whether the changed name still identifies the company. */
export function isRecoverable({ class: { unrecognisable }, isLong }: Question): boolean {
  return unrecognisable === undefined || (unrecognisable === 'short names' && isLong)
}

/** The classes that occur, in their order. */
export function classesOf(evaluations: readonly Evaluation[]): QuestionClass[] {
  const asked = new Set(evaluations.map(({ question }) => question.class.id))
  return [...CLASSES, ...Object.values(NEGATIVES)].filter(({ id }) => asked.has(id))
}

function atMost(target: string, value: number, limit: number, of?: string): Target {
  const { measured, ...rest } = toTarget(`${target} <= ${percent(limit)}`, value, value <= limit)
  return { ...rest, measured: of === undefined ? measured : `${measured}, ${of}` }
}

function atLeast(target: string, value: number, limit: number): Target {
  return toTarget(`${target} >= ${percent(limit)}`, value, value >= limit)
}

function toTarget(target: string, value: number, isMet: boolean): Target {
  return { target, measured: percent(value), isMet: Number.isNaN(value) ? undefined : isMet }
}
