/**
 * The companies that had a name in an earlier recorded file and have it no more (contract 2.19). They depend on the
 * journal of this machine, and make no match.
 */
import type { ResolveResponse } from '../operation/resolve.ts'
import { RELATED_MAX } from '../operation/result.ts'
import { journalOf } from './history.ts'
import { ifReadable, isSynthetic, type AnswerContext } from './registers.ts'
import { exactMatchType } from './search/equal-names.ts'
import { namesOf, parseQueryName } from './search/typed-name.ts'

/** Of one name. Bounds the reads. */
const FORMER_NAMES_MAX = 20

type Past = NonNullable<ResolveResponse['past']>

/** Null while the journal cannot be read. */
export function findPast(
  { name, company_number }: ResolveResponse['query'],
  context: AnswerContext,
): ResolveResponse['past'] {
  const past = ifReadable(() => {
    const journal = journalOf(company_number, context)
    const complete_since = journal.completeSince()
    if (complete_since === undefined) return null
    return { complete_since, companies: name === undefined ? [] : findCompanies(name, journal, context) }
  })
  return past ?? null
}

function findCompanies(name: string, journal: ReturnType<typeof journalOf>, context: AnswerContext): Past['companies'] {
  const query = parseQueryName(name)
  const names = namesOf(query)
  const isNamed = (legalName: string) => exactMatchType(query, legalName, names) !== undefined
  const found = new Map<string, Past['companies'][number]>()
  for (const { core } of names)
    for (const { company, until } of journal.formerNames(core, FORMER_NAMES_MAX)) {
      const { company_number, legal_name } = company
      if (isSynthetic(company_number, context) || !isNamed(legal_name)) continue
      const current = context.dataset?.snapshot.find(company_number)
      if (current === 'quarantined' || (current && isNamed(current.legal_name))) continue
      found.set(company_number, { company_number, legal_name, relation: current ? 'former_name' : 'removed', until })
    }
  return [...found.values()].slice(0, RELATED_MAX)
}
