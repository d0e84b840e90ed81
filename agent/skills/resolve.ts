/** The skill `resolve`: a name, a number or both to one company, or the reason why no company is certain (contract 4.3). */
import type { Dataset } from '../../store/catalog.ts'
import { SYNTHETIC_COMPANY } from '../../store/synthetic.ts'
import { candidateByNumber } from '../matching/by-number.ts'
import { decideStatus } from '../matching/decide.ts'
import { findInRegisters } from '../matching/find-in-registers.ts'
import { MATCHING_VERSION, SCORE_DEFINITION } from '../matching/version.ts'
import { refused } from '../operation/outcome.ts'
import { resolveResponseSchema, type Candidate } from '../operation/result.ts'
import type { ResolveInput } from '../operation/schema.ts'
import {
  datasetProvenance,
  isSynthetic,
  openRegisters,
  provenanceOf,
  SYNTHETIC_PROVENANCE,
  SYNTHETIC_REGISTER,
  type Provenance,
} from './registers.ts'
import { toPreparedAnswer, type PreparedAnswer, type Skill, type SkillContext } from './skill.ts'

export const resolve: Skill<ResolveInput> = {
  needsDataset: ({ company_number }, context) => !isSynthetic(company_number, context),

  prepare(input, context) {
    if (isSynthetic(input.company_number, context)) return resolveSynthetic(input)
    const { dataset } = context
    if (!dataset) return refused({ code: 'dataset_unavailable' })
    return input.company_number === undefined
      ? resolveName(input, dataset, context)
      : resolveNumber(input, input.company_number, { dataset, context })
  },
}

/** Its answer does not depend on the dataset, which may be missing. */
function resolveSynthetic(input: ResolveInput): PreparedAnswer {
  const own = { register: SYNTHETIC_REGISTER, registers: [SYNTHETIC_REGISTER] }
  return toAnswer(input, [candidateByNumber(SYNTHETIC_COMPANY, input, own)], SYNTHETIC_PROVENANCE)
}

/** An explicit number selects its record. */
function resolveNumber(
  input: ResolveInput,
  companyNumber: string,
  { dataset, context }: { dataset: Dataset; context: SkillContext },
): PreparedAnswer {
  const provenance = datasetProvenance(dataset)
  const entry = dataset.snapshot.find(companyNumber)
  if (entry === undefined) return refused({ code: 'company_not_found', provenance })
  if (entry === 'quarantined') return refused({ code: 'source_data_conflict', provenance })
  const registers = openRegisters(dataset, context)
  return toAnswer(input, [candidateByNumber(entry, input, { register: registers[0], registers })], provenance)
}

function resolveName(input: ResolveInput, dataset: Dataset, context: SkillContext): PreparedAnswer {
  const { name, eircode, address } = input
  if (name === undefined) throw new Error('The input schema requires a name or a number')
  const query = { name, eircode, address, fuzzy: 'without_exact' } as const
  const found = findInRegisters(openRegisters(dataset, context), query, context.now)
  if (found.kind === 'too_broad') return refused({ code: 'query_too_broad' })
  return toAnswer(input, found.candidates, provenanceOf(found.candidates, dataset), found.isTruncated)
}

function toAnswer(
  query: ResolveInput,
  candidates: readonly Candidate[],
  provenance: Provenance,
  isTruncated = false,
): PreparedAnswer {
  const status = decideStatus(candidates, { isTruncated })
  return toPreparedAnswer(resolveResponseSchema, {
    status,
    match: status === 'matched' ? (candidates[0] ?? null) : null,
    query,
    candidates,
    candidate_limit_reached: isTruncated,
    matching_version: MATCHING_VERSION,
    score_definition: SCORE_DEFINITION,
    ...provenance,
  })
}
