/** The skill `search`: the companies with the most similar names, best first, with the evidence for each (contract 4.2). */
import { findInRegisters } from '../matching/find-in-registers.ts'
import { MATCHING_VERSION, SCORE_DEFINITION } from '../matching/version.ts'
import { refused } from '../operation/outcome.ts'
import { searchResponseSchema } from '../operation/result.ts'
import type { SearchInput } from '../operation/schema.ts'
import { openRegisters, provenanceOf } from './registers.ts'
import { toPreparedAnswer, type Skill } from './skill.ts'

export const search: Skill<SearchInput> = {
  needsDataset: () => true,

  prepare({ q, limit, status, eircode }, context) {
    const { dataset, now } = context
    if (!dataset) return refused({ code: 'dataset_unavailable' })
    const query = { name: q, status, eircode, fuzzy: 'always' } as const
    const found = findInRegisters(openRegisters(dataset, context), query, now)
    if (found.kind === 'too_broad') return refused({ code: 'query_too_broad' })
    const candidates = found.candidates.slice(0, limit)
    return toPreparedAnswer(searchResponseSchema, {
      query: { q, limit },
      ...((status ?? eircode) !== undefined && { filters: { status, eircode } }),
      candidates,
      candidate_limit_reached: found.isTruncated,
      matching_version: MATCHING_VERSION,
      score_definition: SCORE_DEFINITION,
      ...provenanceOf(candidates, dataset),
    })
  },
}
