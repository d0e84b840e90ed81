/**
 * What is known of the money of a purchase, and what follows: one table for library, commands, MCP server, lists and
 * page.
 */
import { REFUSALS } from '../../agent/operation/refusal.ts'

/** Whether the payment was charged, as far as it is known. */
export type Charged = 'no' | 'unknown' | 'yes'

interface OutcomeDefinition {
  charged: Charged
  /**
   * What the next call for the same request does. `use`: returns the saved answer, or buys anew if that is too old.
   * `send`: sends the same payment again. `sign`: signs one new payment, once the service has refused this one as
   * ended.
   */
  next: 'use' | 'send' | 'sign'
  /** The exit status of commands (contract 14.5). */
  exitStatus: number
  /** One sentence for people. That of `not_sold_later` is in {@link describeOutcome}. */
  sentence: string
}

const UNKNOWN = 'Not known whether the payment was charged. Repeat the same purchase: the same payment is sent again.'

export const OUTCOMES = {
  /** Paid, with an answer. */
  sold: { charged: 'yes', next: 'use', exitStatus: 0, sentence: 'Paid.' },
  /** Certainly not charged. */
  not_sold: { charged: 'no', next: 'sign', exitStatus: 1, sentence: 'Not charged. You can try again now.' },
  /** The service refused the payment, which is certain when it can no longer be settled. */
  not_sold_later: { charged: 'unknown', next: 'send', exitStatus: 6, sentence: '' },
  /** The service says that it settled the payment and has no answer for it. */
  settled_earlier: {
    charged: 'unknown',
    next: 'send',
    exitStatus: 4,
    sentence: REFUSALS.payment_already_settled.advice,
  },
  /** Only a repetition with the same payment can tell. */
  unknown: { charged: 'unknown', next: 'send', exitStatus: 4, sentence: UNKNOWN },
} as const satisfies Record<string, OutcomeDefinition>

type OutcomeKind = keyof typeof OUTCOMES

export type Outcome = { kind: Exclude<OutcomeKind, 'not_sold_later'> } | { kind: 'not_sold_later'; certainFrom: Date }

/** The exit status of a purchase that is sold, and whose answer stdout did not take (contract 14.5). */
export const EXIT_UNDELIVERED = 5

export const exitStatusOf = ({ kind }: Outcome): number => OUTCOMES[kind].exitStatus

export const chargedBy = ({ kind }: Outcome): Charged => OUTCOMES[kind].charged

/** The time from which the outcome is known, in milliseconds. Of several payments the last one counts. */
export function knownFrom(outcome: Outcome): number {
  if (outcome.kind === 'not_sold_later') return outcome.certainFrom.getTime()
  return outcome.kind === 'not_sold' ? 0 : Number.MAX_SAFE_INTEGER
}

/** @param showMoment how the reader sees a time; by default with date and zone */
export function describeOutcome(outcome: Outcome, showMoment = toMoment): string {
  if (outcome.kind !== 'not_sold_later') return OUTCOMES[outcome.kind].sentence
  return `Not charged, which is certain after ${showMoment(outcome.certainFrom)}. Until then the same request sends the same payment, and signs no other.`
}

/** The outcome in JSON output and in errors of the library. */
export function outcomeJson(outcome: Outcome) {
  const { charged, next } = OUTCOMES[outcome.kind]
  const certain = outcome.kind === 'not_sold_later' && { certain_from: outcome.certainFrom.toISOString() }
  return { outcome: outcome.kind, charged, next, ...certain }
}

/** With date and zone. */
export const toMoment = (date: Date): string => `${date.toISOString().replace('T', ' ').slice(0, 19)} UTC`
