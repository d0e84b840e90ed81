/** Schemas of the responses (contract 2). They validate each response, and OpenAPI is generated from them. */
import { z } from 'zod'
import { companySchema } from '../../store/company.ts'
import { sourceSchema } from '../../store/source.ts'
import { CANDIDATES_MAX } from './schema.ts'

export const snapshotIdSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/)

/** The 200 of a lookup (contract 2.3). */
export const companyResponseSchema = z.strictObject({
  company: companySchema,
  source: sourceSchema,
  snapshot_id: snapshotIdSchema,
})

export type CompanyResponse = z.infer<typeof companyResponseSchema>

const MATCH_TYPES = ['company_number', 'strict_name', 'relaxed_name', 'fuzzy_name'] as const

/** Stable codes for contradictions between the query and a candidate (contract 12.4). */
const CONFLICTS = ['eircode_mismatch', 'name_mismatch'] as const

const RESOLUTION_STATUSES = ['matched', 'ambiguous', 'conflicting', 'no_match'] as const

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

const rankingMembers = {
  candidates: z.array(candidateSchema).max(CANDIDATES_MAX),
  candidate_limit_reached: z.boolean(),
  matching_version: z.string(),
  score_definition: z.string(),
  source: sourceSchema,
  snapshot_id: snapshotIdSchema,
}

/** The 200 of a search (contract 2.6). `query` and `filters` repeat the canonical input. */
export const searchResponseSchema = z.strictObject({
  query: z.strictObject({ q: z.string(), limit: z.int() }),
  filters: z.strictObject({ status: z.string().optional(), eircode: z.string().optional() }).optional(),
  ...rankingMembers,
})

/** The 200 of a resolve (contract 2.7). */
export const resolveResponseSchema = z.strictObject({
  status: z.enum(RESOLUTION_STATUSES),
  match: candidateSchema.nullable(),
  query: z.strictObject({
    name: z.string().optional(),
    company_number: z.string().optional(),
    eircode: z.string().optional(),
    address: z.string().optional(),
  }),
  ...rankingMembers,
})

export type MatchSignals = z.infer<typeof matchSignalsSchema>
export type Candidate = z.infer<typeof candidateSchema>
export type SearchResponse = z.infer<typeof searchResponseSchema>
export type ResolveResponse = z.infer<typeof resolveResponseSchema>
