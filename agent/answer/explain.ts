/**
 * What an answer with candidates says of itself: why it is a match or none, what the client does next, and the records
 * that are no candidates (contract 12.12). Depends on query and snapshot alone, and makes no match.
 */
import type { Company } from '../../store/dataset/company.ts'
import { normaliseText } from '../../store/index/normalise-name.ts'
import { openQueryBudgets } from '../../store/index/operation-budget.ts'
import type { ResolveResponse } from '../operation/resolve.ts'
import type { SearchResponse } from '../operation/search.ts'
import {
  companyMemberSchema,
  MATCH_MARGIN_MIN,
  MATCH_SCORE_MIN,
  RELATED_MAX,
  SCORE_MAX,
  SIMILAR_SCORE_MIN,
  type Candidate,
} from '../operation/result.ts'
import { ADDRESS_SCORE, EIRCODE_SCORE } from './search/candidate.ts'
import { findEqualNames } from './search/equal-names.ts'
import type { Register } from './search/register.ts'
import { namesOf, parseQueryName } from './search/typed-name.ts'

type Decided = Pick<ResolveResponse, 'status' | 'query' | 'candidates' | 'candidate_limit_reached'>
type Explained = Pick<ResolveResponse, 'explanation' | 'next' | 'differs_in' | 'related'>

export function explainSearch(
  { candidates, candidate_limit_reached: isTruncated }: Pick<SearchResponse, 'candidates' | 'candidate_limit_reached'>,
  limit: number,
): Pick<SearchResponse, 'explanation' | 'next'> {
  if (isTruncated) return { explanation: 'Not all companies with such a name were examined.', next: 'narrow' }
  if (candidates.length === 0) return { explanation: 'No company has such a name.', next: 'nothing' }
  const count = candidates.length === 1 ? '1 candidate.' : `${candidates.length} candidates, best first.`
  const more = candidates.length === limit ? ' More can exist beyond limit.' : ''
  return { explanation: count + more, next: 'choose' }
}

/** What the decision has left out, or found beside it. */
interface Beside {
  registers: readonly Register[]
  /** Companies of the same name that are no candidates, because the Eircode is that of the first one. */
  namesakes: readonly Candidate[]
  /** The candidates of a search for the name. Undefined if it takes too long. */
  search: () => readonly Candidate[] | undefined
}

export function explainResolution(decided: Decided, beside: Beside): Explained {
  const { status, query, candidates } = decided
  const [first] = candidates
  const near = candidates.filter(({ score }) => first && first.score - score < MATCH_MARGIN_MIN)
  const differs_in = companyMemberSchema.options.filter(
    (name) => near.length > 1 && new Set(near.map(({ company }) => JSON.stringify(company[name]))).size > 1,
  )
  const searched = status === 'no_match' ? beside.search() : []
  // A match without a number has all companies of its name as candidates or namesakes.
  const related =
    status === 'matched' && query.company_number === undefined
      ? relate(
          beside.namesakes.map(({ company }) => company),
          'same_name',
        ).slice(0, RELATED_MAX)
      : findRelated(decided, beside.registers, searched)
  return { ...explain(decided, near, differs_in, { related, searched }), differs_in, related }
}

function explain(
  { status, query, candidates, candidate_limit_reached: isTruncated }: Decided,
  near: readonly Candidate[],
  differs: Explained['differs_in'],
  { related, searched }: { related: Explained['related']; searched: readonly Candidate[] | undefined },
): Pick<Explained, 'explanation' | 'next'> {
  const [first, second] = candidates
  if (!first) {
    const similar = related.filter(({ relation }) => relation === 'similar').length
    const others = similar > 0 ? `; ${similar} with a similar name are in related` : ''
    // An empty search is charged.
    const next = searched?.length === 0 ? 'nothing' : 'search'
    return { explanation: `No company has this name${others}.`, next }
  }
  const { score, conflicts, match_type, signals } = first
  const [conflict] = conflicts
  if (status === 'matched') {
    const others = second ? `, the next one ${second.score}` : ''
    const given = [
      query.eircode !== undefined && signals.eircode_exact !== true && 'Eircode',
      query.address !== undefined && signals.address_contains !== true && 'address',
    ].filter(Boolean)
    const unconfirmed = given.length > 0 ? ` Its record does not confirm the given ${given.join(' and ')}.` : ''
    return { explanation: `The first candidate has ${score} points${others}.${unconfirmed}`, next: 'nothing' }
  }
  if (isTruncated) return { explanation: 'Not all companies with such a name were examined.', next: 'narrow' }
  if (conflict) {
    const next = conflict === 'eircode_mismatch' ? 'correct_eircode' : 'correct_number'
    return { explanation: `The first candidate contradicts the query: ${conflicts.join(', ')}.`, next }
  }
  const next = nextEvidence(query, candidates)
  if (score < MATCH_SCORE_MIN) {
    const name = match_type === 'fuzzy_name' ? ` for a similar name (name_similarity ${signals.name_similarity})` : ''
    return { explanation: `The first candidate has ${score} points${name}; a match needs ${MATCH_SCORE_MIN}.`, next }
  }
  const members = differs.filter((name) => name !== 'company_number')
  const differ = members.length === 0 ? 'nothing but company_number' : members.join(', ')
  const margin = `within ${MATCH_MARGIN_MIN} points of each other`
  return { explanation: `${near.length} candidates are ${margin}, and differ in ${differ}.`, next }
}

/** The evidence whose points could make one of the candidates matched. */
function nextEvidence(query: Decided['query'], candidates: readonly Candidate[]): Explained['next'] {
  const couldMatch = (points: number, isRival: (one: Candidate, other: Candidate) => boolean) =>
    candidates.some((one) => {
      const score = Math.min(SCORE_MAX, one.score + points)
      const rivals = candidates.filter((other) => other !== one && isRival(one, other))
      return score >= MATCH_SCORE_MIN && rivals.every((other) => score - other.score >= MATCH_MARGIN_MIN)
    })
  // A company of the same name with another Eircode is no candidate beside the one that has the given Eircode.
  const hasOtherEircode = ({ company: one }: Candidate, { company: other }: Candidate) =>
    one.registered_address.eircode !== null &&
    other.registered_address.eircode !== null &&
    one.registered_address.eircode !== other.registered_address.eircode &&
    normaliseText(one.legal_name) === normaliseText(other.legal_name)
  if (query.eircode === undefined && couldMatch(EIRCODE_SCORE, (one, other) => !hasOtherEircode(one, other)))
    return 'add_eircode'
  return query.address === undefined && couldMatch(ADDRESS_SCORE, () => true) ? 'add_address' : 'choose'
}

type Related = Explained['related'][number]

const relate = (companies: readonly Company[], relation: Related['relation']): Related[] =>
  companies.map(({ company_number, legal_name, status }) => ({ company_number, legal_name, status, relation }))

/** Companies of the same name that are no candidates, and those that a search has found. */
function findRelated(
  { query: { name }, candidates }: Decided,
  registers: readonly Register[],
  searched: readonly Candidate[] = [],
): Related[] {
  if (name === undefined) return []
  const query = parseQueryName(name)
  const same = registers.flatMap((register) => {
    const accepts = (position: number) => position !== register.withheld
    const equal = findEqualNames(register, query, namesOf(query), { accepts, budgets: openQueryBudgets() })
    return Array.from(equal.values(), ({ company }) => company)
  })
  const similar = searched.filter(({ score }) => score >= SIMILAR_SCORE_MIN).map(({ company }) => company)
  const seen = new Set(candidates.map(({ company }) => company.company_number))
  const others = [...relate(same, 'same_name'), ...relate(similar, 'similar')]
  return others.filter(({ company_number: number }) => !seen.has(number) && seen.add(number)).slice(0, RELATED_MAX)
}
