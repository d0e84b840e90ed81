/** Answers about earlier days and changes from the journal and, on testnet, about the synthetic company. */
import type { Journal } from '../../store/history/journal.ts'
import type { Step } from '../../store/history/step.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_DAY, SYNTHETIC_PROVENANCE } from '../../store/dataset/synthetic.ts'
import type { asOf } from '../operation/as-of.ts'
import { isWithin, type changes, type ChangesResponse } from '../operation/changes.ts'
import { VERSIONS_MAX, type history, type HistoryResponse } from '../operation/history.ts'
import { refused } from '../operation/outcome.ts'
import { fieldSchema } from '../operation/result.ts'
import { isSynthetic, type AnswerFunction, type AnswerContext } from './registers.ts'
import { toDay } from '../../base/day.ts'

type Read<Items extends 'versions' | 'changes'> = ReturnType<Journal[Items]> extends Iterable<infer Item> ? Item : never

/**
 * Rows read for one page. Bounds the time of a filter with few hits; the next page continues after the last row read.
 */
const EXAMINED_MAX = 500

const NO_STEPS = refused({ code: 'dataset_unavailable' })
const NOT_FOUND_THEN = 'The file of that day has no company with this number. Leading zeros are significant.'
const NEVER_FOUND = 'No recorded file has a company with this number. Leading zeros are significant.'

export const answerAsOf: AnswerFunction<typeof asOf> = ({ company_number: number, date }, context) => {
  const journal = journalOf(number, context)
  const newest = journal.newest()
  if (!newest) return NO_STEPS
  const step = date <= toDay(context.now()) ? journal.stepOn(date) : undefined
  if (!step) return refuseDay(journal, newest, 'date')
  const provenance = provenanceOf(step)
  const entry = journal.versionAt(number, step)
  switch (entry) {
    case undefined:
    case 'absent':
    case 'erased':
      return refused({ code: 'company_not_found', message: NOT_FOUND_THEN, provenance })
    case 'quarantined':
      return refused({ code: 'source_data_conflict', provenance })
    default:
      return { kind: 'computed', answer: { company: entry, ...provenance } }
  }
}

/** The newest versions, oldest first. One more is read for the changes of the oldest. */
export const answerHistory: AnswerFunction<typeof history> = ({ company_number, before }, context) => {
  const journal = journalOf(company_number, context)
  const [complete_since, newest] = [journal.completeSince(), journal.newest()]
  if (complete_since === undefined || !newest) return NO_STEPS
  const provenance = provenanceOf(newest)
  const read: Read<'versions'>[] = []
  for (const version of journal.versions(company_number, before)) if (read.push(version) > VERSIONS_MAX) break
  if (read.length === 0) return refused({ code: 'company_not_found', message: NEVER_FOUND, provenance })
  const page = read.slice(0, VERSIONS_MAX)
  const answer = {
    company_number,
    versions: page.map((version, at) => toVersion(version, read[at + 1])).toReversed(),
    next_before: read.length > page.length ? (page.at(-1)?.since.key ?? null) : null,
    complete_since,
    gaps: journal.gaps(complete_since, newest.date),
    ...provenance,
  }
  return { kind: 'computed', answer }
}

function toVersion(
  { entry, since, lastSeen }: Read<'versions'>,
  before: Read<'versions'> | undefined,
): HistoryResponse['versions'][number] {
  const seen = ({ snapshot_id, date }: Step) => ({ snapshot_id, date })
  return {
    state: typeof entry === 'object' ? 'present' : entry,
    first_seen: seen(since),
    last_seen: lastSeen && seen(lastSeen),
    company: typeof entry === 'object' ? entry : null,
    changed: changedFields(before?.entry, entry),
  }
}

export const answerChanges: AnswerFunction<typeof changes> = (input, context) => {
  const { since, until, company_numbers } = input
  const journal = context.journal()
  const [complete_since, newest] = [journal.completeSince(), journal.newest()]
  if (complete_since === undefined || !newest) return NO_STEPS
  const last = until === undefined || until > newest.date ? newest.date : until
  const provenance = provenanceOf(newest)
  if (since > newest.date) return refuseDay(journal, newest, 'since')
  if (last < complete_since) return refuseDay(journal, newest, 'until')
  const [step = '', company_number = ''] = input.cursor?.split('-') ?? []
  const after = input.cursor === undefined ? undefined : { step, company_number }
  const answer = {
    ...readPage(journal.changes({ since, until: last, after, companyNumbers: company_numbers }), input, context),
    complete_since,
    gaps: journal.gaps(since, until ?? newest.date),
    ...(company_numbers && {
      not_in_register: company_numbers.filter((number) => !isSynthetic(number, context) && !journal.has(number)),
    }),
    ...provenance,
  }
  return { kind: 'computed', answer }
}

/** Stops when the page is full or `EXAMINED_MAX` rows were read. Sets a cursor only if a row follows. */
function readPage(
  rows: Iterable<Read<'changes'>>,
  input: Parameters<typeof answerChanges>[0],
  context: AnswerContext,
): Pick<ChangesResponse, 'changes' | 'next_cursor'> {
  const page: ChangesResponse['changes'] = []
  let examined = 0
  let last: Read<'changes'> | undefined
  for (const row of rows) {
    // A row of the dataset with the number of the synthetic company is not sold (contract 1.7).
    if (isSynthetic(row.company_number, context)) continue
    if (last && (page.length === input.limit || examined === EXAMINED_MAX))
      return { changes: page, next_cursor: `${last.step.key}-${last.company_number}` }
    const change = toChange(row)
    if (change && isWithin(change, input)) page.push(change)
    examined += 1
    last = row
  }
  return { changes: page, next_cursor: null }
}

/** Undefined next to an erased version, whose content is not known. */
function toChange({
  step,
  company_number,
  before,
  after,
}: Read<'changes'>): ChangesResponse['changes'][number] | undefined {
  if (before === 'erased' || after === 'erased') return undefined
  const kind = after === 'absent' ? 'removed' : before === 'absent' ? 'added' : 'changed'
  const changed = changedFields(before, after)
  return { company_number, date: step.date, kind, changed, before: toBrief(before), after: toBrief(after) }
}

/** Names the days that are covered. */
function refuseDay(journal: Pick<Journal, 'completeSince'>, newest: Step, field: string) {
  const detail = `covered are ${journal.completeSince() ?? newest.date} to ${newest.date}`
  return refused({ code: 'date_not_covered', detail, field, provenance: provenanceOf(newest) })
}

type VersionEntry = NonNullable<ReturnType<Journal['versionAt']>>

function toBrief(entry: VersionEntry) {
  return typeof entry === 'object' ? { legal_name: entry.legal_name, status: entry.status } : null
}

function changedFields(before: VersionEntry | undefined, after: VersionEntry) {
  if (typeof before !== 'object' || typeof after !== 'object') return []
  return fieldSchema.options.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
}

/** The reads that answers about one number need. */
type DatedJournal = Pick<
  Journal,
  'newest' | 'completeSince' | 'stepOn' | 'versions' | 'versionAt' | 'formerNames' | 'gaps'
>

export function journalOf(number: string | undefined, context: AnswerContext): DatedJournal {
  return isSynthetic(number, context) ? SYNTHETIC_JOURNAL : context.journal()
}

const SYNTHETIC_STEP: Step = {
  key: '0'.repeat(16),
  date: SYNTHETIC_DAY,
  ...SYNTHETIC_PROVENANCE,
}

/** The journal of the synthetic company, which has one version. */
const SYNTHETIC_JOURNAL: DatedJournal = {
  newest: () => SYNTHETIC_STEP,
  completeSince: () => SYNTHETIC_DAY,
  stepOn: (date) => (date < SYNTHETIC_DAY ? undefined : SYNTHETIC_STEP),
  versions: (_, before) =>
    before === undefined || before > SYNTHETIC_STEP.key
      ? [{ entry: SYNTHETIC_COMPANY, since: SYNTHETIC_STEP, lastSeen: null }]
      : [],
  versionAt: () => SYNTHETIC_COMPANY,
  formerNames: () => [],
  gaps: () => [],
}

function provenanceOf({ source, snapshot_id }: Step) {
  return { source, snapshot_id }
}
