/**
 * A step of the journal: one file of the register. Its key sorts by the time of the file and then by that of the
 * retrieval, each as eight base-36 digits of milliseconds.
 */
import * as z from 'zod'
import { sourceSchema, type Source } from '../dataset/source.ts'
import { DAY_MS, toDay } from '../base/day.ts'

const TIME_DIGITS = 8
const BASE = 36
const TIME_MAX = BASE ** TIME_DIGITS - 1

export const stepFactsSchema = z.strictObject({
  snapshot_id: z.string(),
  /** The path, URL or name that was retrieved. */
  location: z.string(),
  archive_sha256: z.string(),
  source: sourceSchema,
})

export type StepFacts = z.infer<typeof stepFactsSchema>

export interface Step {
  key: string
  snapshot_id: string
  /** `YYYY-MM-DD`, in UTC. */
  date: string
  source: Source
}

/** A file that states no update time counts from its retrieval. */
export function stepKeyOf({ retrieved_at, source_updated_at }: Source): string {
  return encodeTime(source_updated_at ?? retrieved_at) + encodeTime(retrieved_at)
}

/** The first key that a step of this day can have. */
export function firstKeyOf(date: string): string {
  return encodeTime(date)
}

export function dateOf(key: string): string {
  return dateOfDay(dayOf(key))
}

export function dayOf(key: string): number {
  return Math.floor(Number.parseInt(key.slice(0, TIME_DIGITS), BASE) / DAY_MS)
}

export function dateOfDay(day: number): string {
  return toDay(day * DAY_MS)
}

export function nextDate(date: string): string {
  const next = new Date(date)
  next.setUTCDate(next.getUTCDate() + 1)
  return toDay(next)
}

/** A time before 1970 counts as 1970, and a later one than the last as the last. */
function encodeTime(time: string): string {
  return Math.min(Math.max(0, Date.parse(time)), TIME_MAX)
    .toString(BASE)
    .padStart(TIME_DIGITS, '0')
}
