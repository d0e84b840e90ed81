/**
 * A step of the journal: one file of the register. Its key sorts by the time of the file and then by that of the
 * retrieval, each as eight base-36 digits of milliseconds.
 */
import type { Source } from '../dataset/source.ts'
import { DAY_MS, toDay } from '../../base/day.ts'

const TIME_DIGITS = 8
const BASE = 36
const TIME_MAX = BASE ** TIME_DIGITS - 1

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
export const firstKeyOf = (date: string) => encodeTime(date)

export const dateOf = (key: string) => dateOfDay(dayOf(key))

export function dayOf(key: string): number {
  return Math.floor(Number.parseInt(key.slice(0, TIME_DIGITS), BASE) / DAY_MS)
}

/** Days since 1970. Unlike a key, it has no limits. */
export const dayNumber = (date: string) => Date.parse(date) / DAY_MS

export const dateOfDay = (day: number) => toDay(day * DAY_MS)

/** A day in UTC has no other length. */
export const nextDate = (date: string) => toDay(Date.parse(date) + DAY_MS)

/** A time before 1970 counts as 1970, and a later one than the last as the last. */
function encodeTime(time: string): string {
  return Math.min(Math.max(0, Date.parse(time)), TIME_MAX)
    .toString(BASE)
    .padStart(TIME_DIGITS, '0')
}
