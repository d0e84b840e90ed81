/** Days of the calendar in UTC. */

export const DAY_MS = 24 * 60 * 60 * 1000

/** `YYYY-MM-DD` */
export function toDay(time: Date | number | string): string {
  return new Date(time).toISOString().slice(0, 'YYYY-MM-DD'.length)
}
