/** Schemas that answers share (contract 2). They validate each answer, and OpenAPI is generated from them. */
import { z } from 'zod'
import { companySchema } from '../../store/dataset/company.ts'
import { sourceSchema } from '../../store/dataset/source.ts'
import { CANDIDATES_MAX } from './fields.ts'
import { REFUSALS, type RefusalCode } from './refusal.ts'

export const snapshotIdSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/)

export const errorSchema = z.strictObject({
  code: z
    .enum(Object.keys(REFUSALS) as RefusalCode[])
    .meta({ description: 'Stable. Programs should use this member.' }),
  message: z.string().meta({ description: 'For people. It never contains input.' }),
})

/** Contract 2.8. */
export const dataErrorSchema = z.strictObject({
  company: z.null(),
  error: errorSchema,
  source: sourceSchema,
  snapshot_id: snapshotIdSchema,
})

/** One company with its source (contract 2.3). */
export const companyResponseSchema = z.strictObject({
  company: companySchema,
  source: sourceSchema,
  snapshot_id: snapshotIdSchema,
})

const MATCH_TYPES = ['company_number', 'strict_name', 'relaxed_name', 'fuzzy_name'] as const

/** Stable codes for contradictions between the query and a candidate (contract 12.4). */
const CONFLICTS = ['eircode_mismatch', 'name_mismatch'] as const

export const SCORE_MAX = 1000

/** Null when the query or the record has no value to compare (contract 2.5). */
export const matchSignalsSchema = z.strictObject({
  name_similarity: z.number().min(0).max(1),
  strict_name_exact: z.boolean(),
  relaxed_name_exact: z.boolean(),
  eircode_exact: z.boolean().nullable(),
  address_contains: z.boolean().nullable(),
  company_number_exact: z.boolean(),
})

/** Contract 2.4. */
export const candidateSchema = z.strictObject({
  company: companySchema,
  score: z.int().min(0).max(SCORE_MAX),
  match_type: z.enum(MATCH_TYPES),
  signals: matchSignalsSchema,
  conflicts: z.array(z.enum(CONFLICTS)),
})

/** The members of an answer with candidates (contract 2.6, 2.7). */
export const rankingMembers = {
  candidates: z.array(candidateSchema).max(CANDIDATES_MAX),
  candidate_limit_reached: z.boolean(),
  matching_version: z.string(),
  score_definition: z.string(),
  source: sourceSchema,
  snapshot_id: snapshotIdSchema,
}

export type MatchSignals = z.infer<typeof matchSignalsSchema>
export type Candidate = z.infer<typeof candidateSchema>

const repeatedSchema = z.object({
  query: z.record(z.string(), z.unknown()),
  filters: z.record(z.string(), z.unknown()).optional(),
})

/** Whether an answer repeats the canonical input in `query` and `filters` (contract 2.6, 10.4). */
export function repeatsInput(input: Record<string, unknown>, answer: unknown): boolean {
  const { query = {}, filters = {} } = repeatedSchema.safeParse(answer).data ?? {}
  const stated = { ...query, ...filters }
  return Object.entries(input).every(([name, value]) => value === undefined || stated[name] === value)
}
