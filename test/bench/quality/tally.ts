/** Counts evaluations and compares them with the targets of docs/accuracy.md. */
import { percent, targetOf, type Target } from '../markdown.ts'
import { CLASSES, NEGATIVES, type QuestionClass } from './classes.ts'
import type { Question } from './questions.ts'
import type { Resolution, Evaluation } from './evaluate.ts'

export interface Tally {
  asked: number
  /** Questions about registered companies. */
  findable: number
  top1: number
  top5: number
  top10: number
  resolutions: Record<Resolution, number>
}

export function tally(evaluations: readonly Evaluation[]): Tally {
  const found = evaluations.filter(({ question }) => question.expected)
  const within = (count: number) => found.filter(({ rank }) => rank !== undefined && rank < count).length
  const resolutions = { right: 0, wrong: 0, ambiguous: 0, conflicting: 0, no_match: 0, refused: 0 }
  for (const { resolution } of evaluations) resolutions[resolution] += 1
  return {
    asked: evaluations.length,
    findable: found.length,
    top1: within(1),
    top5: within(5),
    top10: within(10),
    resolutions,
  }
}

/** NaN when `whole` is 0; a target then counts as not measured. */
export function share(part: number, whole: number): number {
  return part / whole
}

export function ofClass(evaluations: readonly Evaluation[], { id }: Pick<QuestionClass, 'id'>): Evaluation[] {
  return evaluations.filter(({ question }) => question.class.id === id)
}

/** One match in 20,000. */
const WRONG_SHARE_MAX = 0.00005
const WRONG_SHARE_OF_CLASS_MAX = 0.002
/** For names that are not on the register. */
const NO_MATCH_MIN = 0.9
const SAME_NAME_MATCHED_MIN = 0.99
const TYPO_TOP1_MIN = 0.97
const TYPO_TOP5_MIN = 0.99
const TOP5_MIN = 0.97

const AS_REGISTERED = { id: '0' }

/** Separates the questions about companies that were removed from the register. */
export function byPresence(evaluations: readonly Evaluation[]) {
  return {
    present: evaluations.filter(({ question }) => !question.isRemoved),
    removed: evaluations.filter(({ question }) => question.isRemoved),
  }
}

/** The promises of docs/accuracy.md, most important first. */
export function accuracyTargets(evaluations: readonly Evaluation[]): Target[] {
  const all = tally(evaluations)
  const { present, removed } = byPresence(evaluations)
  const typos = tally(evaluations.filter(({ question }) => question.class.id === '1' && question.isLong))
  const recoverable = tally(evaluations.filter(({ question }) => isRecoverable(question)))
  return [
    atMost('wrong matches, the company is in the register', wrongShare(present), WRONG_SHARE_MAX),
    atMost('wrong matches, the company is removed', wrongShare(removed), WRONG_SHARE_MAX),
    worstClass(evaluations),
    atMost('refused, all questions', share(all.resolutions.refused, all.asked), 0),
    ...classesOf(evaluations)
      .filter(({ isSameName }) => isSameName)
      .map((each) =>
        atLeast(
          `matched where unique, ${each.id} ${each.label}`,
          uniqueShare(evaluations, each),
          SAME_NAME_MATCHED_MIN,
        ),
      ),
    atLeast('no match, name of a removed company', noMatchShare(removed, AS_REGISTERED), NO_MATCH_MIN),
    atLeast('no match, a given list, not registered', noMatchShare(evaluations, NEGATIVES.listed), NO_MATCH_MIN),
    atLeast('top 1, one typo in eight letters or more', share(typos.top1, typos.findable), TYPO_TOP1_MIN),
    atLeast('top 5, one typo in eight letters or more', share(typos.top5, typos.findable), TYPO_TOP5_MIN),
    atLeast('top 5, all recoverable questions', share(recoverable.top5, recoverable.findable), TOP5_MIN),
  ]
}

export function uniqueOf(evaluations: readonly Evaluation[], questionClass: QuestionClass): Tally {
  return tally(ofClass(evaluations, questionClass).filter(({ question }) => question.isUnique && !question.isRemoved))
}

export function isRecoverable({ class: { recoverable }, isLong }: Question): boolean {
  return recoverable === 'always' || (recoverable === 'long names' && isLong)
}

/** The classes that occur, in their order. */
export function classesOf(evaluations: readonly Evaluation[]): QuestionClass[] {
  const asked = new Set(evaluations.map(({ question }) => question.class.id))
  return [...CLASSES, ...Object.values(NEGATIVES)].filter(({ id }) => asked.has(id))
}

function worstClass(evaluations: readonly Evaluation[]): Target {
  const shares = classesOf(evaluations).map((each) => ({ each, wrong: wrongShare(ofClass(evaluations, each)) }))
  const [worst] = shares.toSorted((one, other) => other.wrong - one.wrong)
  const name = worst && worst.wrong > 0 ? `, ${worst.each.id} ${worst.each.label}` : ''
  return atMost(`wrong matches in the worst class${name}`, worst?.wrong ?? Number.NaN, WRONG_SHARE_OF_CLASS_MAX)
}

function wrongShare(evaluations: readonly Evaluation[]): number {
  const { asked, resolutions } = tally(evaluations)
  return share(resolutions.wrong, asked)
}

function noMatchShare(evaluations: readonly Evaluation[], questionClass: Pick<QuestionClass, 'id'>): number {
  const { asked, resolutions } = tally(ofClass(evaluations, questionClass))
  return share(resolutions.no_match, asked)
}

function uniqueShare(evaluations: readonly Evaluation[], questionClass: QuestionClass): number {
  const { asked, resolutions } = uniqueOf(evaluations, questionClass)
  return share(resolutions.right, asked)
}

function atMost(target: string, value: number, limit: number): Target {
  return targetOf(`${target} <= ${percent(limit)}`, { value, text: percent(value), isMet: value <= limit })
}

function atLeast(target: string, value: number, limit: number): Target {
  return targetOf(`${target} >= ${percent(limit)}`, { value, text: percent(value), isMet: value >= limit })
}
