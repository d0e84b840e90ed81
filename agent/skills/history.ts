/** Answers what operations ask from the journal and, on testnet, about the synthetic company. */
import type { Journal, Step } from '../../store/history/journal.ts'
import {
  SYNTHETIC_COMPANY,
  SYNTHETIC_DAY,
  SYNTHETIC_SNAPSHOT_ID,
  SYNTHETIC_SOURCE,
} from '../../store/dataset/synthetic.ts'
import type { FoundCompany, Provenance } from '../operation/companies.ts'
import { refused, type Refused } from '../operation/outcome.ts'
import {
  GAPS_MAX,
  type ChangeRange,
  type EntryChange,
  type History,
  type PastChanges,
  type PastVersions,
} from '../operation/register-history.ts'
import { isSynthetic, type SkillContext } from './registers.ts'

type HistoryContext = Pick<SkillContext, 'journal' | 'hasSyntheticCompany' | 'now'>

const NO_STEPS = refused({ code: 'dataset_unavailable' })
const NOT_FOUND_THEN = 'The file of that day has no company with this number. Leading zeros are significant.'
const DAY_MS = 24 * 60 * 60 * 1000

export function openHistory(context: HistoryContext): History {
  return {
    companyOn: (number, date) => companyOn(number, date, context),
    versions: (number, before) => readVersions(number, before, context),
    changes: (range) => readChanges(range, context),
  }
}

function companyOn(number: string, date: string, context: HistoryContext): FoundCompany | Refused {
  const journal = journalOf(number, context)
  const newest = journal.newest()
  if (!newest) return NO_STEPS
  const step = date <= toDate(context.now()) ? journal.stepOn(date) : undefined
  if (!step) return refused({ code: 'date_not_covered', provenance: provenanceOf(newest) })
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
      return { kind: 'found', company: entry, ...provenance }
  }
}

function readVersions(number: string, before: string | undefined, context: HistoryContext): PastVersions | Refused {
  const journal = journalOf(number, context)
  const bounds = boundsOf(journal)
  if (!bounds) return NO_STEPS
  const { oldest, newest } = bounds
  return {
    kind: 'found',
    newestFirst: journal.versions(number, before),
    completeSince: oldest.date,
    gaps: journal.gaps(oldest.date, newest.date).slice(-GAPS_MAX),
    ...provenanceOf(newest),
  }
}

function readChanges({ since, until, after }: ChangeRange, context: HistoryContext): PastChanges | Refused {
  const journal = context.journal()
  const bounds = boundsOf(journal)
  if (!bounds) return NO_STEPS
  const { oldest, newest } = bounds
  const last = until === undefined || until > newest.date ? newest.date : until
  const provenance = provenanceOf(newest)
  if (since > newest.date || last < oldest.date) return refused({ code: 'date_not_covered', provenance })
  // Earlier days would not be listed.
  const firstGap = toDate(new Date(Date.parse(oldest.date) - GAPS_MAX * DAY_MS))
  return {
    kind: 'found',
    changes: withoutSynthetic(journal.changes({ since, until: last, after }), context),
    gaps: journal.gaps(since < firstGap ? firstGap : since, last).slice(-GAPS_MAX),
    ...provenance,
  }
}

/** A row of the dataset with the number of the synthetic company is not sold (contract 1.7). */
function* withoutSynthetic(changes: Iterable<EntryChange>, context: HistoryContext): Generator<EntryChange> {
  for (const change of changes) if (!isSynthetic(change.company_number, context)) yield change
}

function journalOf(number: string, context: HistoryContext): Omit<Journal, 'changes' | 'close'> {
  return isSynthetic(number, context) ? SYNTHETIC_JOURNAL : context.journal()
}

const SYNTHETIC_STEP: Step = {
  key: '0'.repeat(16),
  snapshot_id: SYNTHETIC_SNAPSHOT_ID,
  date: SYNTHETIC_DAY,
  source: SYNTHETIC_SOURCE,
}

/** The journal of the synthetic company, which has one version. */
const SYNTHETIC_JOURNAL: Omit<Journal, 'changes' | 'close'> = {
  newest: () => SYNTHETIC_STEP,
  oldest: () => SYNTHETIC_STEP,
  stepOn: (date) => (date < SYNTHETIC_DAY ? undefined : SYNTHETIC_STEP),
  versions: (_, before) =>
    before === undefined || before > SYNTHETIC_STEP.key
      ? [{ entry: SYNTHETIC_COMPANY, since: SYNTHETIC_STEP, lastSeen: null }]
      : [],
  versionAt: () => SYNTHETIC_COMPANY,
  gaps: () => [],
}

function boundsOf(journal: Pick<Journal, 'oldest' | 'newest'>): { oldest: Step; newest: Step } | undefined {
  const [oldest, newest] = [journal.oldest(), journal.newest()]
  return oldest && newest && { oldest, newest }
}

function provenanceOf({ source, snapshot_id }: Step): Provenance {
  return { source, snapshot_id }
}

function toDate(time: Date): string {
  return time.toISOString().slice(0, 10)
}
