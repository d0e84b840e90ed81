/** Schemas that answers share (contract 2). They validate each answer, and OpenAPI is generated from them. */
import * as z from 'zod'
import { digestSchema } from '../../base/digest.ts'
import { companySchema } from '../../store/dataset/company.ts'
import { sourceSchema } from '../../store/dataset/source.ts'
import { CANDIDATES_MAX } from './fields.ts'
import { NEXT, REFUSALS, type Next, type RefusalCode } from './refusal.ts'

export const errorSchema = z.strictObject({
  code: z
    .enum(Object.keys(REFUSALS) as RefusalCode[])
    .meta({ description: 'Stable. Programs should use this member.' }),
  message: z.string().meta({ description: 'For people. It never contains input.' }),
  charged: z.enum(['no', 'earlier', 'unknown', 'yes']).meta({ description: '`yes` only in an item of a batch.' }),
  next: z.enum(Object.keys(NEXT) as Next[]),
  field: z.string().optional().meta({ description: 'What is at fault, if one is.' }),
  reason: z.string().optional().meta({ description: 'Why a payment is refused.' }),
})

export const dataErrorSchema = z.strictObject({
  company: z.null(),
  error: errorSchema,
  source: sourceSchema,
  snapshot_id: digestSchema,
})

export const fieldSchema = companySchema.omit({ company_number: true }).keyof()

/** The ranges of days without a file, in order. Both days are part of a range. */
export const gapsSchema = z.array(z.strictObject({ from: z.iso.date(), to: z.iso.date() }))

/** One company with its source (contract 2.3). */
export const companyResponseSchema = z.strictObject({
  company: companySchema,
  source: sourceSchema,
  snapshot_id: digestSchema,
})

export const SCORE_MAX = 1000
/** The score of a match, and its distance to the next one. */
export const MATCH_SCORE_MIN = 900
export const MATCH_MARGIN_MIN = 80
/** A search shows names from fewer points on, which share a word and are seldom meant. */
export const SIMILAR_SCORE_MIN = 400

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
  match_type: z.enum(['company_number', 'strict_name', 'relaxed_name', 'fuzzy_name']),
  signals: matchSignalsSchema,
  /** Stable codes for contradictions between the query and a candidate (contract 12.4). */
  conflicts: z.array(z.enum(['eircode_mismatch', 'name_mismatch', 'number_mismatch'])),
})

/** What the client does after an answer with candidates. */
const ANSWER_NEXT = [
  'nothing',
  'choose',
  'narrow',
  'search',
  'add_eircode',
  'add_address',
  'correct_eircode',
  'correct_number',
] as const

export const companyMemberSchema = companySchema.keyof()

export const RELATED_MAX = 5

/** A company that is no candidate (contract 2.13). */
export const relatedSchema = z.strictObject({
  company_number: z.string(),
  legal_name: z.string(),
  status: z.string().nullable(),
  relation: z.enum(['same_name', 'similar']),
})

/** Null without a readable journal (contract 2.19). */
export const pastSchema = z
  .strictObject({
    complete_since: z.iso.date(),
    companies: z
      .array(
        z.strictObject({
          company_number: z.string(),
          legal_name: z.string(),
          relation: z.enum(['former_name', 'removed']),
          until: z.iso.date(),
        }),
      )
      .max(RELATED_MAX),
  })
  .nullable()
  .meta({ description: 'Companies that had the name until a day, in the files of this machine. Machines can differ.' })

/** Members of a resolution about records that are no match (contract 2.7). */
export const resolutionMembers = {
  differs_in: z.array(companyMemberSchema),
  related: z.array(relatedSchema).max(RELATED_MAX),
  past: pastSchema,
}

/** The members of an answer with candidates (contract 2.6). */
export const rankingMembers = {
  explanation: z.string(),
  next: z.enum(ANSWER_NEXT),
  candidates: z.array(candidateSchema).max(CANDIDATES_MAX),
  candidate_limit_reached: z.boolean(),
  matching_version: z.string(),
  score_definition: z.string(),
  source: sourceSchema,
  snapshot_id: digestSchema,
}

/** Raise this whenever normalisation, retrieval, scoring or the decision changes (contract 1.4). */
export const MATCHING_VERSION = 'ie-names-8'

/** In every answer with candidates, like the version. The page explains the values (docs/served/api.md). */
export const SCORE_DEFINITION =
  'Evidence from 0 to 1000, not a probability or an assessment of the registry; explained in /docs/api.md under Scores.'

export type Candidate = z.infer<typeof candidateSchema>

/** Whether an answer repeats the canonical input in `query` and `filters` (contract 2.6, 10.4). */
export function repeatsInput(
  input: object,
  { query, filters }: { query: object; filters?: object | undefined },
): boolean {
  const stated: Record<string, unknown> = { ...query, ...filters }
  return Object.entries(input).every(([name, value]) => value === undefined || stated[name] === value)
}
