/** What changed in the register between two days (contract 4.10). */
import * as z from 'zod'
import { digestSchema } from '../../base/digest.ts'
import type { Company } from '../../store/dataset/company.ts'
import { sourceSchema } from '../../store/dataset/source.ts'
import { SYNTHETIC_DAY, SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'
import { exampleCompany } from './examples.ts'
import { CHANGES_MAX, companyNumbers, countUpTo, cursor, day, foldStatus, statusText } from './fields.ts'
import { defineOperation } from './operation.ts'
import { API_PREFIX } from './endpoints.ts'
import { fieldSchema, gapsSchema } from './result.ts'

const KINDS = ['added', 'removed', 'changed'] as const

const briefSchema = z.strictObject({ legal_name: z.string(), status: z.string().nullable() }).nullable()

export const changeSchema = z.strictObject({
  company_number: z.string(),
  date: z.iso.date(),
  kind: z.enum(KINDS),
  changed: z.array(fieldSchema),
  before: briefSchema,
  after: briefSchema,
})

/** The 200 (contract 2.12). */
const changesResponseSchema = z.strictObject({
  changes: z.array(changeSchema).max(CHANGES_MAX),
  next_cursor: z.string().nullable(),
  /** The day of the oldest file. */
  complete_since: z.iso.date(),
  gaps: gapsSchema,
  /** Present if the input has company numbers. */
  not_in_register: z.array(z.string()).optional(),
  source: sourceSchema,
  snapshot_id: digestSchema,
})

export type ChangesResponse = z.infer<typeof changesResponseSchema>

const inputSchema = z
  .strictObject({
    since: day('The first day'),
    until: day('The last day. Default: the newest').optional(),
    kind: z
      .enum(KINDS, { error: 'must be added, removed or changed' })
      .meta({ description: 'Only changes of this kind.' })
      .optional(),
    field: z
      .enum(fieldSchema.options, { error: 'must be the name of a field of a company' })
      .meta({ description: 'Only changes of this field.' })
      .optional(),
    status: statusText('Only companies with this status after the change, or before a removal').optional(),
    limit: countUpTo(CHANGES_MAX, 'changes', CHANGES_MAX),
    cursor: cursor.optional(),
    company_numbers: companyNumbers.optional(),
  })
  .refine(({ since, until }) => until === undefined || since <= until, { error: 'until must not be before since' })

function exampleAnswer({ company_number, legal_name, status }: Company): ChangesResponse {
  return {
    changes: [
      {
        company_number,
        date: '2026-01-03',
        kind: 'changed',
        changed: ['status', 'status_date'],
        before: { legal_name, status: 'Strike Off Listed' },
        after: { legal_name, status },
      },
    ],
    next_cursor: null,
    complete_since: SYNTHETIC_DAY,
    gaps: [{ from: '2026-01-02', to: '2026-01-02' }],
    ...SYNTHETIC_PROVENANCE,
  }
}

/**
 * @example `{"since": "2026-01-02", "kind": "changed", "field": "legal_name"}` costs 0.01 USDC and answers the
 * companies with a new name since that day, 100 of them or `limit`.
 */
export const changes = defineOperation({
  name: 'changes',
  method: 'GET',
  path: `${API_PREFIX}/changes`,
  prices: { mainnet: 10_000, testnet: 1_000 },

  inputSchema,
  inputFault: 'invalid_query',
  answerSchema: changesResponseSchema,
  answerName: 'ChangesResponse',
  refusals: ['date_not_covered'],

  isAnswerTo: (input, answer) =>
    answer.changes.length <= input.limit &&
    answer.changes.every((change) => isWithin(change, input)) &&
    (answer.not_in_register === undefined) === (input.company_numbers === undefined) &&
    (answer.not_in_register ?? []).every((number) => input.company_numbers?.includes(number)),

  examples: ({ company_number, date: since }) => [
    { since, limit: 10 },
    { since, company_numbers: [company_number] },
  ],
  exampleAnswer: (mode) => exampleAnswer(exampleCompany(mode)),

  skill: {
    name: 'Register changes',
    description:
      'The Irish companies that were added, removed or changed between two days, up to 100 at a time, of the register ' +
      'or of a list of company numbers. An empty list, and numbers that are not in the register, are charged.',
    tags: ['ireland', 'company', 'registry', 'updates', 'monitoring'],
  },
  tool: {
    name: 'company_changes',
    title: 'List changes of Irish companies between two days',
    bestFor:
      'following new companies, names, statuses and addresses, of all or of up to 100 "company_numbers". Repeat with ' +
      '"cursor" while "next_cursor" is not null',
    notFor: 'the records themselves',
    charge: 'An empty list is charged.',
    size: 'An answer has 1 KB and 0.3 KB for each change.',
  },
})

export function isWithin(
  change: ChangesResponse['changes'][number],
  { since, until, kind, field, status: wanted, company_numbers }: z.output<typeof inputSchema>,
): boolean {
  const { status: found } = (change.kind === 'removed' ? change.before : change.after) ?? { status: null }
  return (
    change.date >= since &&
    (until === undefined || change.date <= until) &&
    (company_numbers === undefined || company_numbers.includes(change.company_number)) &&
    (kind === undefined || change.kind === kind) &&
    (field === undefined || change.changed.includes(field)) &&
    (wanted === undefined || (found !== null && foldStatus(found) === foldStatus(wanted)))
  )
}
