/** The skill `lookup`: one company by exactly its number. */
import { SYNTHETIC_COMPANY, SYNTHETIC_SNAPSHOT_ID, SYNTHETIC_SOURCE } from '../../store/synthetic.ts'
import { companyResponseSchema, type CompanyResponse } from '../operation/result.ts'
import type { LookupInput } from '../operation/schema.ts'
import { sealed, type Shelf, type Skill } from './skill.ts'

const SYNTHETIC_RESPONSE: CompanyResponse = {
  company: SYNTHETIC_COMPANY,
  source: SYNTHETIC_SOURCE,
  snapshot_id: SYNTHETIC_SNAPSHOT_ID,
}

export const lookup: Skill<LookupInput> = {
  needsDataset: (input, shelf) => !isSynthetic(input, shelf),

  prepare(input, shelf) {
    if (isSynthetic(input, shelf)) return sealed(companyResponseSchema, SYNTHETIC_RESPONSE)
    if (!shelf.dataset) return { kind: 'refused', refusal: { code: 'dataset_unavailable' } }
    const { snapshot, source } = shelf.dataset
    const provenance = { source, snapshot_id: snapshot.info.snapshot_id }
    const entry = snapshot.find(input.company_number)
    if (entry === undefined) return { kind: 'refused', refusal: { code: 'company_not_found', provenance } }
    if (entry === 'quarantined') return { kind: 'refused', refusal: { code: 'source_data_conflict', provenance } }
    return sealed(companyResponseSchema, { company: entry, ...provenance })
  },
}

function isSynthetic(input: LookupInput, shelf: Shelf): boolean {
  return shelf.hasSyntheticCompany && input.company_number === SYNTHETIC_COMPANY.company_number
}
