/** Lists wrong matches and misses by name, to find out why a target is missed. */
import { groupedBy } from './grouped.ts'
import { isRecoverable } from './tally.ts'
import type { Named } from './product.ts'
import type { BenchCompany } from './register.ts'
import type { Evaluation } from './evaluate.ts'

/** Per class. */
const LISTED_MAX = 20

export function debugText(evaluations: readonly Evaluation[]): string {
  const wrong = evaluations.filter(({ resolution }) => resolution === 'wrong')
  const unmatched = evaluations.filter(
    ({ question, resolution }) => question.class.isSameName && question.isUnique && resolution !== 'right',
  )
  const missed = evaluations.filter(({ question, rank }) => isRecoverable(question) && rank !== 0)
  return [
    ...section('matched wrong', wrong, ({ match }) => match),
    ...section('not matched although the name is unique', unmatched, ({ first }) => first),
    ...section('not first in search results', missed, ({ first }) => first),
  ].join('\n')
}

function section(
  title: string,
  evaluations: readonly Evaluation[],
  got: (evaluation: Evaluation) => Named | undefined,
): string[] {
  const byClass = groupedBy(evaluations, ({ question }) => question.class.id)
  const listed = [...byClass.values()].flatMap((ofClass) => ofClass.slice(0, LISTED_MAX))
  return [`${title}: ${evaluations.length}`, ...listed.map((evaluation) => line(evaluation, got(evaluation))), '']
}

function line(
  { question: { class: questionClass, asked, expected }, resolution }: Evaluation,
  got: Named | undefined,
): string {
  return `${questionClass.id}\tquery ${JSON.stringify(asked)}\texpected ${text(expected)}\tgot ${text(got)}\t${resolution}`
}

function text(company: Named | BenchCompany | undefined): string {
  return company ? `${company.number} ${company.name}` : 'none'
}
