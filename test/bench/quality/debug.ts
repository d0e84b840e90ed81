/** The answers to look at when a target is missed: the first wrong matches and the first misses, by name. */
import { groupedBy } from './grouped.ts'
import { isRecoverable } from './tally.ts'
import type { Named } from './product.ts'
import type { Verdict } from './verdicts.ts'

/** Of each class, so that the hardest one does not hide the others. */
const LISTED_MAX = 20

export function debugText(verdicts: readonly Verdict[]): string {
  const wrong = verdicts.filter(({ resolution }) => resolution === 'wrong')
  const unmatched = verdicts.filter(
    ({ question, resolution }) => question.class.isSameName && question.isUnique && resolution !== 'right',
  )
  const missed = verdicts.filter(({ question, place }) => isRecoverable(question) && place !== 0)
  return [
    ...section('matched wrong', wrong, ({ match }) => match),
    ...section('not matched, though one company has the name', unmatched, ({ first }) => first),
    ...section('not first in a search', missed, ({ first }) => first),
  ].join('\n')
}

function section(title: string, verdicts: readonly Verdict[], got: (verdict: Verdict) => Named | undefined): string[] {
  const byClass = groupedBy(verdicts, ({ question }) => question.class.id)
  const listed = [...byClass.values()].flatMap((ofOne) => ofOne.slice(0, LISTED_MAX))
  return [`${title}: ${verdicts.length}`, ...listed.map((verdict) => line(verdict, got(verdict))), '']
}

function line({ question: { class: way, asked, meant }, resolution }: Verdict, got: Named | undefined): string {
  return `${way.id}\tasked ${JSON.stringify(asked)}\tmeant ${text(meant)}\tgot ${text(got)}\t${resolution}`
}

function text(company: Named | undefined): string {
  return company ? `${company.number} ${company.name}` : 'nobody'
}
