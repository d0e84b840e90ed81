/** What operations read of earlier registers. The port keeps the journal out of this folder. */
import { z } from 'zod'
import { companySchema, type SnapshotEntry } from '../../store/dataset/company.ts'
import type { FoundCompany, Provenance } from './companies.ts'
import type { Refused } from './outcome.ts'

/** One file of the register. Keys have the order of time. */
interface Step {
  key: string
  snapshot_id: string
  date: string
}

export type PastEntry = SnapshotEntry | 'absent' | 'erased'

export interface PastVersion {
  entry: PastEntry
  since: Step
  /** The last step that had it. Null while it is current. */
  lastSeen: Step | null
}

export interface PastVersions extends Provenance {
  kind: 'found'
  newestFirst: Iterable<PastVersion>
  completeSince: string
  gaps: string[]
}

/** A company at a step. */
export interface Position {
  step: string
  company_number: string
}

export interface ChangeRange {
  since: string
  /** Default: the newest day. */
  until?: string | undefined
  after?: Position | undefined
}

export interface EntryChange {
  step: Step
  company_number: string
  before: PastEntry
  after: PastEntry
}

export interface PastChanges extends Provenance {
  kind: 'found'
  /** In the order of step and number. The oldest file changes nothing. */
  changes: Iterable<EntryChange>
  gaps: string[]
}

export interface History {
  /** The company in the last file of a day or before. */
  companyOn(companyNumber: string, date: string): FoundCompany | Refused
  /** All versions of a number, or those that began before the step `before`. */
  versions(companyNumber: string, before: string | undefined): PastVersions | Refused
  /** Both days are inclusive. */
  changes(range: ChangeRange): PastChanges | Refused
}

/** The newest are listed, about 13 KB. */
export const GAPS_MAX = 1_000
/** Days without a file, in order. */
export const gapsSchema = z.array(z.iso.date()).max(GAPS_MAX)

/** All fields that can change. */
export const fieldSchema = companySchema.omit({ company_number: true }).keyof()

/** The fields that differ, if both entries are companies. */
export function changedFields(before: PastEntry | undefined, after: PastEntry): z.infer<typeof fieldSchema>[] {
  if (typeof before !== 'object' || typeof after !== 'object') return []
  return fieldSchema.options.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
}
