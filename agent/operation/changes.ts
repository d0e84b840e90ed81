/** What changed in the register between two days (contract 4.10). */
import { z } from 'zod'
import { sourceSchema } from '../../store/dataset/source.ts'
import { SYNTHETIC_DAY } from '../../store/dataset/synthetic.ts'
import { EXAMPLE_CANDIDATE, EXAMPLE_PROVENANCE } from './examples.ts'
import { CHANGES_MAX, changeLimit, cursor, day, foldStatus, statusText } from './fields.ts'
import { defineOperation } from './operation.ts'
import { API_PREFIX } from './paths.ts'
import {
  changedFields,
  fieldSchema,
  gapsSchema,
  type EntryChange,
  type PastEntry,
  type Position,
} from './register-history.ts'
import { snapshotIdSchema } from './result.ts'

/** Examined in one request, so that a filter with few hits takes no longer. The next page continues there. */
const EXAMINED_MAX = 500

const KINDS = ['added', 'removed', 'changed'] as const

const briefSchema = z.strictObject({ legal_name: z.string(), status: z.string().nullable() }).nullable()

const changeSchema = z.strictObject({
  company_number: z.string(),
  date: z.iso.date(),
  kind: z.enum(KINDS),
  changed: z.array(fieldSchema),
  before: briefSchema,
  after: briefSchema,
})

type Change = z.infer<typeof changeSchema>

/** The 200 (contract 2.12). */
const changesResponseSchema = z.strictObject({
  changes: z.array(changeSchema).max(CHANGES_MAX),
  next_cursor: z.string().nullable(),
  gaps: gapsSchema,
  source: sourceSchema,
  snapshot_id: snapshotIdSchema,
})

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
    limit: changeLimit,
    cursor: cursor.optional(),
  })
  .refine(({ since, until }) => until === undefined || since <= until, { error: 'until must not be before since' })

type Input = z.output<typeof inputSchema>

const EXAMPLE = { since: '2026-01-02', limit: 10 }

const EXAMPLE_ANSWER: z.infer<typeof changesResponseSchema> = {
  changes: [
    {
      company_number: EXAMPLE_CANDIDATE.company.company_number,
      date: '2026-01-03',
      kind: 'changed',
      changed: ['legal_name', 'name_effective_date'],
      before: { legal_name: 'SAMPLE TRADING LIMITED', status: 'Normal' },
      after: { legal_name: EXAMPLE_CANDIDATE.company.legal_name, status: 'Normal' },
    },
  ],
  next_cursor: null,
  gaps: ['2026-01-02'],
  ...EXAMPLE_PROVENANCE,
}

export const changes = defineOperation({
  name: 'changes',
  method: 'GET',
  path: `${API_PREFIX}/changes`,
  prices: { mainnet: 10_000, testnet: 1_000 },

  inputSchema,
  numbers: ['limit'],
  inputFault: 'invalid_query',
  answerSchema: changesResponseSchema,
  answerName: 'ChangesResponse',
  refusals: ['date_not_covered'],

  answer(input, _companies, history) {
    const { since, until } = input
    const after = input.cursor === undefined ? undefined : parseCursor(input.cursor)
    const found = history.changes({ since, until, after })
    if (found.kind === 'refused') return found
    const { gaps, source, snapshot_id } = found
    return { kind: 'computed', answer: { ...readPage(found.changes, input), gaps, source, snapshot_id } }
  },
  isAnswerTo: (input, answer) =>
    answer.changes.length <= input.limit && answer.changes.every((change) => isWithin(change, input)),

  examples: (): z.input<typeof inputSchema>[] => [
    EXAMPLE,
    { since: '2026-01-02', kind: 'changed', field: 'legal_name' },
  ],
  exampleAnswers: () => ({ found: EXAMPLE_ANSWER, nothing: { ...EXAMPLE_ANSWER, changes: [], gaps: [] } }),
  quotedExample: () => ({ since: SYNTHETIC_DAY }),

  resource: 'The Irish companies that were added, removed or changed between two days, with the changed fields.',
  skill: {
    name: 'Register changes',
    description:
      'The Irish companies that were added, removed or changed between two days, up to 100 at a time. ' +
      'An empty list is an answer and is charged.',
    tags: ['ireland', 'company', 'registry', 'updates', 'monitoring'],
  },
  tool: {
    name: 'register_changes',
    title: 'List changes of Irish companies between two days',
    use: 'Use it to follow new companies, new names, statuses and addresses. Repeat it with "cursor" while "next_cursor" is not null.',
    charge: 'An empty list is charged.',
  },
  route: {
    operationId: 'registerChanges',
    summary: 'Changes between two days',
    description:
      'Up to 100 changes between two days, both inclusive, in the order of date, snapshot and number. `next_cursor` is the ' +
      'parameter `cursor` of the next page; a page can be shorter than `limit` before the end. An empty list is an ' +
      'answer and is charged. Days of which none is recorded are not charged.',
  },
})

/** Ends when the page is full or enough was examined, if there is another row. */
function readPage(rows: Iterable<EntryChange>, input: Input): { changes: Change[]; next_cursor: string | null } {
  const page: Change[] = []
  let examined = 0
  let last: EntryChange | undefined
  for (const row of rows) {
    if (last && (page.length === input.limit || examined === EXAMINED_MAX))
      return { changes: page, next_cursor: toCursor(last) }
    const change = toChange(row)
    if (change && isWithin(change, input)) page.push(change)
    examined += 1
    last = row
  }
  return { changes: page, next_cursor: null }
}

/** Undefined next to an erased version, whose content is not known. */
function toChange({ step, company_number, before, after }: EntryChange): Change | undefined {
  if (before === 'erased' || after === 'erased') return undefined
  const kind = after === 'absent' ? 'removed' : before === 'absent' ? 'added' : 'changed'
  const changed = changedFields(before, after)
  return { company_number, date: step.date, kind, changed, before: toBrief(before), after: toBrief(after) }
}

function toBrief(entry: PastEntry): Change['before'] {
  return typeof entry === 'object' ? { legal_name: entry.legal_name, status: entry.status } : null
}

function isWithin(change: Change, { since, until, kind, field, status: wanted }: Input): boolean {
  const { status: found } = (change.kind === 'removed' ? change.before : change.after) ?? { status: null }
  return (
    change.date >= since &&
    (until === undefined || change.date <= until) &&
    (kind === undefined || change.kind === kind) &&
    (field === undefined || change.changed.includes(field)) &&
    (wanted === undefined || (found !== null && foldStatus(found) === foldStatus(wanted)))
  )
}

function toCursor({ step, company_number }: EntryChange): string {
  return `${step.key}-${company_number}`
}

function parseCursor(text: string): Position {
  const [step = '', company_number = ''] = text.split('-')
  return { step, company_number }
}
