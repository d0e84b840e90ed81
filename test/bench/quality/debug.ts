/** The answers to look at when a target is missed: the first wrong matches and the first misses, by name. */
import { isRecoverable } from './tally.ts'
import type { Named } from './product.ts'
import type { Verdict } from './verdicts.ts'

const LISTED_MAX = 20

export function debugText(verdicts: readonly Verdict[]): string {
  const wrong = verdicts.filter(({ resolution }) => resolution === 'wrong')
  const missed = verdicts.filter(({ question, place }) => isRecoverable(question) && place !== 0)
  return [
    ...section('matched wrong', wrong, ({ match }) => match),
    ...section('not first in a search', missed, ({ first }) => first),
  ].join('\n')
}

function section(title: string, verdicts: readonly Verdict[], got: (verdict: Verdict) => Named | undefined): string[] {
  const lines = verdicts.slice(0, LISTED_MAX).map((verdict) => {
    const { class: asked, meant, asked: query } = verdict.question
    return `${asked.id}\tasked ${JSON.stringify(query)}\tmeant ${text(meant)}\tgot ${text(got(verdict))}`
  })
  return [`${title}: ${verdicts.length}`, ...lines, '']
}

function text(company: Named | undefined): string {
  return company ? `${company.number} ${company.name}` : 'nobody'
}
