/** Timers for tests that let no schedule run by itself. */
import type { Timer } from '../../store/base/runtime.ts'

/** The longest pause within a request. Schedules and time limits are longer. */
const PAUSE_MS_MAX = 2_000

/** Ends pauses at once. Schedules and time limits never fire. */
export const pausesOnly: Timer = (callback, milliseconds) => {
  if (milliseconds > PAUSE_MS_MAX) return () => undefined
  const immediate = setImmediate(callback)
  return () => clearImmediate(immediate)
}
