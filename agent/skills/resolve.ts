/** The skill `resolve`: a name, a number or both to one company, or an honest word about why not (spec 4.3). */
import type { Dataset } from '../../store/catalog.ts'
import { decide } from '../matching/decide.ts'
import { findCompanies, type Found } from '../matching/find.ts'
import { judgeNumbered } from '../matching/numbered.ts'
import { MATCHING_VERSION, SCORE_DEFINITION } from '../matching/version.ts'
import type { Refusal } from '../operation/refusal.ts'
import { resolveResponseSchema } from '../operation/result.ts'
import type { ResolveInput } from '../operation/schema.ts'
import { namesOf } from './names.ts'
import { sealed, type Skill } from './skill.ts'

export const resolve: Skill<ResolveInput> = {
  needsDataset: () => true,

  prepare(input, { dataset, isTimeUp }) {
    if (!dataset) return { kind: 'refused', refusal: { code: 'dataset_unavailable' } }
    const { snapshot, source } = dataset
    const found = candidatesFor(input, dataset, isTimeUp)
    if (found.kind === 'refused') return found
    if (found.kind === 'too_broad') return { kind: 'refused', refusal: { code: 'query_too_broad' } }
    const { candidates, isTruncated } = found
    const status = decide(candidates, { isTruncated })
    return sealed(resolveResponseSchema, {
      status,
      match: status === 'matched' ? (candidates[0] ?? null) : null,
      query: input,
      candidates,
      candidate_limit_reached: isTruncated,
      matching_version: MATCHING_VERSION,
      score_definition: SCORE_DEFINITION,
      source,
      snapshot_id: snapshot.info.snapshot_id,
    })
  },
}

/** An explicit number restricts the resolution to its record; otherwise the name is looked for. */
function candidatesFor(
  { company_number, name, eircode, address }: ResolveInput,
  { snapshot, source }: Dataset,
  isTimeUp: () => boolean,
): Found | { kind: 'refused'; refusal: Refusal } {
  const register = { snapshot, names: namesOf(snapshot) }
  if (company_number !== undefined) {
    const entry = snapshot.find(company_number)
    if (entry === undefined) return { kind: 'found', candidates: [], isTruncated: false }
    const provenance = { source, snapshot_id: snapshot.info.snapshot_id }
    if (entry === 'quarantined') return { kind: 'refused', refusal: { code: 'source_data_conflict', provenance } }
    const candidate = judgeNumbered(register, entry, { name, eircode, address })
    return { kind: 'found', candidates: [candidate], isTruncated: false }
  }
  if (name === undefined) throw new Error('A resolution has a name or a number')
  return findCompanies(register, { name, eircode, address, similar: 'instead_of_equal' }, isTimeUp)
}
