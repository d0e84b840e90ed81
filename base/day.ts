/** Hours, and days of the calendar in UTC. */

export const HOUR_MS = 60 * 60 * 1000
export const DAY_MS = 24 * HOUR_MS

/** `YYYY-MM-DD` */
export function toDay(time: Date | number | string): string {
  return new Date(time).toISOString().slice(0, 'YYYY-MM-DD'.length)
}
