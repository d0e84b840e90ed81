/** The skill `resolve`: a name, a number or both to one company, or the reason why no company is certain (contract 4.3). */
import type { Dataset } from '../../store/catalog.ts'
import { candidateByNumber } from '../matching/by-number.ts'
import { decideStatus } from '../matching/decide.ts'
import { findCompanies, type FindResult } from '../matching/find.ts'
import { MATCHING_VERSION, SCORE_DEFINITION } from '../matching/version.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import { DATASET_UNAVAILABLE } from '../operation/refusal.ts'
import { resolveResponseSchema } from '../operation/result.ts'
import type { ResolveInput } from '../operation/schema.ts'
import { cachedNameIndex } from './name-index-cache.ts'
import { toPreparedAnswer, type Skill } from './skill.ts'

export const resolve: Skill<ResolveInput> = {
  needsDataset: () => true,

  prepare(input, { dataset, now }) {
    if (!dataset) return refused(DATASET_UNAVAILABLE)
    const found = findCandidates(input, dataset, now)
    if (found.kind === 'refused') return found
    if (found.kind === 'too_broad') return refused({ code: 'query_too_broad' })
    const { candidates, isTruncated } = found
    const status = decideStatus(candidates, { isTruncated })
    return toPreparedAnswer(resolveResponseSchema, {
      status,
      match: status === 'matched' ? (candidates[0] ?? null) : null,
      query: input,
      candidates,
      candidate_limit_reached: isTruncated,
      matching_version: MATCHING_VERSION,
      score_definition: SCORE_DEFINITION,
      source: dataset.source,
      snapshot_id: dataset.snapshot.info.snapshot_id,
    })
  },
}

/** An explicit number selects its record; the name is searched only without a number. */
function findCandidates(
  { company_number, name, eircode, address }: ResolveInput,
  { snapshot, source }: Dataset,
  now: () => Date,
): FindResult | Refused {
  const register = { snapshot, names: cachedNameIndex(snapshot) }
  if (company_number !== undefined) {
    const entry = snapshot.find(company_number)
    if (entry === undefined) return { kind: 'found', candidates: [], isTruncated: false }
    if (entry === 'quarantined') {
      const provenance = { source, snapshot_id: snapshot.info.snapshot_id }
      return refused({ code: 'source_data_conflict', provenance })
    }
    const candidate = candidateByNumber(register, entry, { name, eircode, address })
    return { kind: 'found', candidates: [candidate], isTruncated: false }
  }
  if (name === undefined) throw new Error('The input schema requires a name or a number')
  return findCompanies(register, { name, eircode, address, fuzzy: 'without_exact' }, now)
}
