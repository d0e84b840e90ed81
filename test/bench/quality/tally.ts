/** Counts verdicts, and holds the counts against the targets. */
import { percent, targetOf, type Target } from '../targets.ts'
import { CLASSES, NEGATIVES, type QuestionClass } from './classes.ts'
import type { Question } from './questions.ts'
import type { Resolution, Verdict } from './verdicts.ts'

export interface Tally {
  asked: number
  /** Questions that a search can answer: all but the names that nobody has. */
  findable: number
  top1: number
  top5: number
  top10: number
  resolutions: Record<Resolution, number>
}

export function tally(verdicts: readonly Verdict[]): Tally {
  const found = verdicts.filter(({ question }) => question.meant)
  const within = (places: number) => found.filter(({ place }) => place !== undefined && place < places).length
  const resolutions = { right: 0, wrong: 0, ambiguous: 0, conflicting: 0, no_match: 0, refused: 0 }
  for (const { resolution } of verdicts) resolutions[resolution] += 1
  return {
    asked: verdicts.length,
    findable: found.length,
    top1: within(1),
    top5: within(5),
    top10: within(10),
    resolutions,
  }
}

/** Nothing of nothing is no share: NaN, which no target accepts or refuses. */
export function share(part: number, whole: number): number {
  return part / whole
}

export function ofClass(verdicts: readonly Verdict[], { id }: QuestionClass): Verdict[] {
  return verdicts.filter(({ question }) => question.class.id === id)
}

const WRONG_SHARE_MAX = 0.001
const WRONG_SHARE_OF_CLASS_MAX = 0.005
const SAME_NAME_MATCHED_MIN = 0.99
const TYPO_TOP1_MIN = 0.97
const TYPO_TOP5_MIN = 0.99
const TOP5_MIN = 0.97

/** The promises, in the order of their weight: no wrong company above all. */
export function accuracyTargets(verdicts: readonly Verdict[]): Target[] {
  const all = tally(verdicts)
  const typos = tally(verdicts.filter(({ question }) => question.class.id === '1' && question.isLong))
  const recoverable = tally(verdicts.filter(({ question }) => isRecoverable(question)))
  return [
    atMost('wrong matches, all questions', wrongShare(verdicts), WRONG_SHARE_MAX),
    worstClass(verdicts),
    atMost('refused, all questions', share(all.resolutions.refused, all.asked), 0),
    ...classesOf(verdicts)
      .filter(({ isSameName }) => isSameName)
      .map((each) =>
        atLeast(`matched where unique, ${each.id} ${each.label}`, uniqueShare(verdicts, each), SAME_NAME_MATCHED_MIN),
      ),
    atLeast('top 1, one typo in eight letters or more', share(typos.top1, typos.findable), TYPO_TOP1_MIN),
    atLeast('top 5, one typo in eight letters or more', share(typos.top5, typos.findable), TYPO_TOP5_MIN),
    atLeast('top 5, all that is recoverable', share(recoverable.top5, recoverable.findable), TOP5_MIN),
  ]
}

export function uniqueOf(verdicts: readonly Verdict[], questionClass: QuestionClass): Tally {
  return tally(ofClass(verdicts, questionClass).filter(({ question }) => question.isUnique))
}

export function isRecoverable({ class: { recoverable }, isLong }: Question): boolean {
  return recoverable === 'always' || (recoverable === 'long names' && isLong)
}

/** The classes in their order, without those that were not asked. */
export function classesOf(verdicts: readonly Verdict[]): QuestionClass[] {
  const asked = new Set(verdicts.map(({ question }) => question.class.id))
  return [...CLASSES, ...Object.values(NEGATIVES)].filter(({ id }) => asked.has(id))
}

function worstClass(verdicts: readonly Verdict[]): Target {
  const shares = classesOf(verdicts).map((each) => ({ each, wrong: wrongShare(ofClass(verdicts, each)) }))
  const [worst] = shares.toSorted((one, other) => other.wrong - one.wrong)
  const name = worst && worst.wrong > 0 ? `, ${worst.each.id} ${worst.each.label}` : ''
  return atMost(`wrong matches in the worst class${name}`, worst?.wrong ?? Number.NaN, WRONG_SHARE_OF_CLASS_MAX)
}

function wrongShare(verdicts: readonly Verdict[]): number {
  const { asked, resolutions } = tally(verdicts)
  return share(resolutions.wrong, asked)
}

function uniqueShare(verdicts: readonly Verdict[], questionClass: QuestionClass): number {
  const { asked, resolutions } = uniqueOf(verdicts, questionClass)
  return share(resolutions.right, asked)
}

function atMost(target: string, value: number, limit: number): Target {
  return targetOf(`${target} <= ${percent(limit)}`, { value, text: percent(value), isMet: value <= limit })
}

function atLeast(target: string, value: number, limit: number): Target {
  return targetOf(`${target} >= ${percent(limit)}`, { value, text: percent(value), isMet: value >= limit })
}
