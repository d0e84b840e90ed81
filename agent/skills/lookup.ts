/** The skill `lookup`: one company by its exact number (contract 4.1). */
import { SYNTHETIC_COMPANY, SYNTHETIC_SNAPSHOT_ID, SYNTHETIC_SOURCE } from '../../store/synthetic.ts'
import { refused } from '../operation/outcome.ts'
import { DATASET_UNAVAILABLE } from '../operation/refusal.ts'
import { companyResponseSchema, type CompanyResponse } from '../operation/result.ts'
import type { LookupInput } from '../operation/schema.ts'
import { toPreparedAnswer, type Skill, type SkillContext } from './skill.ts'

const SYNTHETIC_RESPONSE: CompanyResponse = {
  company: SYNTHETIC_COMPANY,
  source: SYNTHETIC_SOURCE,
  snapshot_id: SYNTHETIC_SNAPSHOT_ID,
}

export const lookup: Skill<LookupInput> = {
  needsDataset: (input, context) => !isSynthetic(input, context),

  prepare(input, context) {
    if (isSynthetic(input, context)) return toPreparedAnswer(companyResponseSchema, SYNTHETIC_RESPONSE)
    if (!context.dataset) return refused(DATASET_UNAVAILABLE)
    const { snapshot, source } = context.dataset
    const provenance = { source, snapshot_id: snapshot.info.snapshot_id }
    const entry = snapshot.find(input.company_number)
    if (entry === undefined) return refused({ code: 'company_not_found', provenance })
    if (entry === 'quarantined') return refused({ code: 'source_data_conflict', provenance })
    return toPreparedAnswer(companyResponseSchema, { company: entry, ...provenance })
  },
}

function isSynthetic(input: LookupInput, context: SkillContext): boolean {
  return context.hasSyntheticCompany && input.company_number === SYNTHETIC_COMPANY.company_number
}
