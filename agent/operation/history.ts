/** The versions of one company in the recorded files of the register (contract 4.8). */
import * as z from 'zod'
import { digestSchema } from '../../base/digest.ts'
import { companySchema } from '../../store/dataset/company.ts'
import { sourceSchema } from '../../store/dataset/source.ts'
import { SYNTHETIC_DAY, SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'
import { exampleCompany } from './examples.ts'
import { companyNumber, stepKey } from './fields.ts'
import { defineOperation } from './operation.ts'
import { API_PREFIX } from './endpoints.ts'
import { fieldSchema, gapsSchema } from './result.ts'

/** About 100 KB. */
export const VERSIONS_MAX = 100

const seenSchema = z.strictObject({ snapshot_id: digestSchema, date: z.iso.date() })

const versionSchema = z.strictObject({
  state: z.enum(['present', 'absent', 'quarantined', 'erased']),
  first_seen: seenSchema,
  last_seen: seenSchema.nullable(),
  company: companySchema.nullable(),
  changed: z.array(fieldSchema),
})

/** The 200 (contract 2.11). */
const historyResponseSchema = z.strictObject({
  company_number: z.string(),
  versions: z.array(versionSchema).max(VERSIONS_MAX),
  next_before: z.string().nullable(),
  complete_since: z.iso.date(),
  gaps: gapsSchema,
  source: sourceSchema,
  snapshot_id: digestSchema,
})

export type HistoryResponse = z.infer<typeof historyResponseSchema>

/**
 * @example
 * `{"company_number": "335801"}` costs 0.01 USDC and answers the recorded versions of the company, oldest first.
 */
export const history = defineOperation({
  name: 'history',
  method: 'GET',
  path: `${API_PREFIX}/company/{company_number}/history`,
  prices: { mainnet: 10_000, testnet: 1_000 },

  inputSchema: z.strictObject({
    company_number: companyNumber,
    before: stepKey.meta({ description: '`next_before` of an earlier answer: the versions before those.' }).optional(),
  }),
  inputFault: 'invalid_query',
  memberFaults: { company_number: 'invalid_company_number' },
  answerSchema: historyResponseSchema,
  answerName: 'HistoryResponse',
  refusals: ['company_not_found'],

  isAnswerTo: ({ company_number }, answer) =>
    answer.company_number === company_number &&
    answer.versions.every(({ company }) => company === null || company.company_number === company_number),

  examples: ({ company_number }) => [{ company_number }],
  exampleAnswer: (mode) => exampleAnswer(exampleCompany(mode)),

  skill: {
    name: 'Company history',
    description:
      'The versions of one Irish company record in the recorded files of the register: from when to when, and which ' +
      'fields changed. Not charged when no file had the number.',
    tags: ['ireland', 'company', 'registry', 'history', 'kyb'],
  },
  tool: {
    name: 'company_history',
    title: 'List the recorded versions of one Irish company',
    bestFor: 'former names, addresses and statuses of a number',
    notFor: 'days before the first recorded file',
    charge: 'A number that no file had is not charged.',
    size: 'An answer has 1 KB for each version, of which there are at most 100.',
  },
})

function exampleAnswer(company: z.infer<typeof companySchema>): HistoryResponse {
  const first_seen = { snapshot_id: SYNTHETIC_PROVENANCE.snapshot_id, date: SYNTHETIC_DAY }
  return {
    company_number: company.company_number,
    versions: [{ state: 'present', first_seen, last_seen: null, company, changed: [] }],
    next_before: null,
    complete_since: SYNTHETIC_DAY,
    gaps: [],
    ...SYNTHETIC_PROVENANCE,
  }
}
