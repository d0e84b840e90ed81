/** The versions of one company in the recorded files of the register (contract 4.8). */
import { z } from 'zod'
import { companySchema } from '../../store/dataset/company.ts'
import { sourceSchema } from '../../store/dataset/source.ts'
import { SYNTHETIC_DAY, SYNTHETIC_SNAPSHOT_ID } from '../../store/dataset/synthetic.ts'
import { EXAMPLE_PROVENANCE, exampleCompany, quotedNumber } from './examples.ts'
import { companyNumber, stepKey } from './fields.ts'
import { defineOperation } from './operation.ts'
import { refused } from './outcome.ts'
import { API_PREFIX } from './paths.ts'
import { changedFields, fieldSchema, gapsSchema, type PastVersion } from './register-history.ts'
import { snapshotIdSchema } from './result.ts'

const NEVER_FOUND = 'No recorded file has a company with this number. Leading zeros are significant.'

/** About 100 KB. */
const VERSIONS_MAX = 100

const seenSchema = z.strictObject({ snapshot_id: snapshotIdSchema, date: z.iso.date() })

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
  snapshot_id: snapshotIdSchema,
})

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

  companyNumber: ({ company_number }) => company_number,
  answer({ company_number, before }, _companies, pastRegisters) {
    const found = pastRegisters.versions(company_number, before)
    if (found.kind === 'refused') return found
    const { newestFirst, completeSince: complete_since, gaps, source, snapshot_id } = found
    const { versions, next_before } = readPage(newestFirst)
    if (versions.length === 0)
      return refused({ code: 'company_not_found', message: NEVER_FOUND, provenance: { source, snapshot_id } })
    const answer = { company_number, versions, next_before, complete_since, gaps, source, snapshot_id }
    return { kind: 'computed', answer }
  },
  isAnswerTo: ({ company_number }, answer) =>
    answer.company_number === company_number &&
    answer.versions.every(({ company }) => company === null || company.company_number === company_number),

  examples: (number) => (number === undefined ? [] : [{ company_number: number }]),
  exampleAnswers: (mode) => ({ found: exampleAnswer(exampleCompany(mode)) }),
  quotedExample: (mode) => ({ company_number: quotedNumber(mode) }),

  resource:
    'The versions of one Irish company record in the recorded files of the register, with the changed fields. An unknown number is not charged.',
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
    use: 'Use it for former names, addresses and statuses since the date "complete_since". It shows what the files said.',
    charge: 'A number that no file had is not charged.',
  },
  route: {
    operationId: 'companyHistory',
    summary: 'The recorded versions of one company',
    description:
      'Up to 100 versions of one record, oldest first, each with the first and the last file that had it and the fields ' +
      'that differ from the version before. `next_before` is the parameter `before` of the earlier versions. A number ' +
      'that no file had is not charged.',
  },
})

/** The newest versions, oldest first. One more is read for the changes of the oldest. */
function readPage(newestFirst: Iterable<PastVersion>) {
  const read: PastVersion[] = []
  for (const version of newestFirst) if (read.push(version) > VERSIONS_MAX) break
  const page = read.slice(0, VERSIONS_MAX)
  const versions = page.map((version, at) => toVersion(version, read[at + 1])).toReversed()
  return { versions, next_before: read.length > page.length ? (page.at(-1)?.since.key ?? null) : null }
}

function toVersion({ entry, since, lastSeen }: PastVersion, before: PastVersion | undefined) {
  const seen = ({ snapshot_id, date }: PastVersion['since']) => ({ snapshot_id, date })
  return {
    state: typeof entry === 'object' ? ('present' as const) : entry,
    first_seen: seen(since),
    last_seen: lastSeen && seen(lastSeen),
    company: typeof entry === 'object' ? entry : null,
    changed: changedFields(before?.entry, entry),
  }
}

function exampleAnswer(company: z.infer<typeof companySchema>): z.infer<typeof historyResponseSchema> {
  const first_seen = { snapshot_id: SYNTHETIC_SNAPSHOT_ID, date: SYNTHETIC_DAY }
  return {
    company_number: company.company_number,
    versions: [{ state: 'present', first_seen, last_seen: null, company, changed: [] }],
    next_before: null,
    complete_since: SYNTHETIC_DAY,
    gaps: [],
    ...EXAMPLE_PROVENANCE,
  }
}
