/** The skill `search`: the companies with the most similar names, best first, with the evidence for each (contract 4.2). */
import { findCompanies } from '../matching/find.ts'
import { MATCHING_VERSION, SCORE_DEFINITION } from '../matching/version.ts'
import { refused } from '../operation/outcome.ts'
import { DATASET_UNAVAILABLE } from '../operation/refusal.ts'
import { searchResponseSchema } from '../operation/result.ts'
import type { SearchInput } from '../operation/schema.ts'
import { cachedNameIndex } from './name-index-cache.ts'
import { toPreparedAnswer, type Skill } from './skill.ts'

export const search: Skill<SearchInput> = {
  needsDataset: () => true,

  prepare({ q, limit, status, eircode }, { dataset, now }) {
    if (!dataset) return refused(DATASET_UNAVAILABLE)
    const { snapshot, source } = dataset
    const register = { snapshot, names: cachedNameIndex(snapshot) }
    const found = findCompanies(register, { name: q, status, eircode, fuzzy: 'always' }, now)
    if (found.kind === 'too_broad') return refused({ code: 'query_too_broad' })
    return toPreparedAnswer(searchResponseSchema, {
      query: { q, limit },
      ...((status ?? eircode) !== undefined && { filters: { status, eircode } }),
      candidates: found.candidates.slice(0, limit),
      candidate_limit_reached: found.isTruncated,
      matching_version: MATCHING_VERSION,
      score_definition: SCORE_DEFINITION,
      source,
      snapshot_id: snapshot.info.snapshot_id,
    })
  },
}
