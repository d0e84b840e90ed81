/**
 * A cell of a table. That of a CSV is text. That of a sheet can have another type, and is null if empty. A date before
 * 1900 is a time of the day: sheets count days from 1900 on.
 */
import { HOUR_MS } from '../../base/day.ts'

export type Cell = string | number | boolean | Date | null

export type Rows = Iterable<readonly Cell[]> | AsyncIterable<readonly Cell[]>

const FIRST_DAY = Date.UTC(1900, 0, 1)
/** The day of a time. */
export const TIME_EPOCH = Date.UTC(1899, 11, 30)

export const isTime = (date: Date): boolean => date.getTime() < FIRST_DAY

/** A cell as text: a date as `YYYY-MM-DD`, with `HH:MM` if it has a time, a number without the format of its sheet. */
export function toText(cell: Cell | undefined): string {
  if (!(cell instanceof Date)) return String(cell ?? '')
  const [day = '', clock = ''] = cell.toISOString().split('T')
  const time = clock.slice(0, clock.startsWith('00', 6) ? 5 : 8)
  if (!isTime(cell)) return time === '00:00' ? day : `${day} ${time}`
  const hours = Math.floor((cell.getTime() - TIME_EPOCH) / HOUR_MS)
  return String(hours).padStart(2, '0') + time.slice(2)
}

export const isBlank = (cell: Cell | undefined): boolean => toText(cell).trim() === ''
