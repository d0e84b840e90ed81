/** The skill `search`: companies whose names fit best, with the evidence for each (spec 4.2). */
import { findCompanies } from '../matching/find.ts'
import { MATCHING_VERSION, SCORE_DEFINITION } from '../matching/version.ts'
import { searchResponseSchema } from '../operation/result.ts'
import type { SearchInput } from '../operation/schema.ts'
import { namesOf } from './names.ts'
import { sealed, type Skill } from './skill.ts'

export const search: Skill<SearchInput> = {
  needsDataset: () => true,

  prepare({ q, limit, status, eircode }, { dataset, isTimeUp }) {
    if (!dataset) return { kind: 'refused', refusal: { code: 'dataset_unavailable' } }
    const { snapshot, source } = dataset
    const wanted = { name: q, status, eircode, similar: 'beside_equal' } as const
    const found = findCompanies({ snapshot, names: namesOf(snapshot) }, wanted, isTimeUp)
    if (found.kind === 'too_broad') return { kind: 'refused', refusal: { code: 'query_too_broad' } }
    return sealed(searchResponseSchema, {
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
