/** How a purchase ended: the one wording for the command line, the page, the library and MCP. */
import { REFUSALS } from '../../agent/operation/refusal.ts'

/**
 * `sold`: paid, with an answer. `not_sold`: certainly not charged. `not_sold_later`: the service refused the payment,
 * which is certain when it can no longer be settled. `settled_earlier`: the service says that it settled the payment
 * and has no answer for it. `unknown`: only a repetition with the same payment can tell.
 */
export type Outcome =
  { kind: 'sold' | 'not_sold' | 'settled_earlier' | 'unknown' } | { kind: 'not_sold_later'; certainFrom: Date }

/** The exit statuses of commands (contract 14.5). */
export const EXIT_STATUSES: Record<Outcome['kind'], number> = {
  sold: 0,
  not_sold: 1,
  settled_earlier: 4,
  unknown: 4,
  not_sold_later: 6,
}

/** The time from which the outcome is known, in milliseconds. Of several payments the last one counts. */
export function knownFrom(outcome: Outcome): number {
  if (outcome.kind === 'not_sold_later') return outcome.certainFrom.getTime()
  return outcome.kind === 'not_sold' ? 0 : Number.MAX_SAFE_INTEGER
}

/** One sentence, with the local time. */
export function describeOutcome(outcome: Outcome): string {
  if (outcome.kind !== 'not_sold_later') return SENTENCES[outcome.kind]
  return `Not sold. This is certain from ${toTime(outcome.certainFrom)} on; other purchases are safe meanwhile.`
}

const SENTENCES = {
  sold: 'Sold.',
  not_sold: 'Not sold, and nothing was charged.',
  settled_earlier: REFUSALS.payment_already_settled.advice,
  unknown: 'Not known whether the payment was charged. Repeat the same purchase: the same payment is sent again.',
}

/** The next full minute. */
function toTime(date: Date): string {
  const minute = new Date(Math.ceil(date.getTime() / 60_000) * 60_000)
  return [minute.getHours(), minute.getMinutes()].map((part) => String(part).padStart(2, '0')).join(':')
}

/** Whether the payment was charged, as far as it is known. */
export type Charged = 'no' | 'unknown' | 'yes'

export function chargedBy({ kind }: Outcome): Charged {
  if (kind === 'sold') return 'yes'
  return kind === 'not_sold' ? 'no' : 'unknown'
}
