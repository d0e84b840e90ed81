/** The skill `lookup`: one company by its exact number (contract 4.1). */
import { SYNTHETIC_COMPANY } from '../../store/synthetic.ts'
import { refused } from '../operation/outcome.ts'
import { companyResponseSchema } from '../operation/result.ts'
import type { LookupInput } from '../operation/schema.ts'
import { datasetProvenance, isSynthetic, SYNTHETIC_PROVENANCE } from './registers.ts'
import { toPreparedAnswer, type Skill } from './skill.ts'

export const lookup: Skill<LookupInput> = {
  needsDataset: ({ company_number }, context) => !isSynthetic(company_number, context),

  prepare({ company_number }, context) {
    if (isSynthetic(company_number, context))
      return toPreparedAnswer(companyResponseSchema, { company: SYNTHETIC_COMPANY, ...SYNTHETIC_PROVENANCE })
    const { dataset } = context
    if (!dataset) return refused({ code: 'dataset_unavailable' })
    const provenance = datasetProvenance(dataset)
    const entry = dataset.snapshot.find(company_number)
    if (entry === undefined) return refused({ code: 'company_not_found', provenance })
    if (entry === 'quarantined') return refused({ code: 'source_data_conflict', provenance })
    return toPreparedAnswer(companyResponseSchema, { company: entry, ...provenance })
  },
}
