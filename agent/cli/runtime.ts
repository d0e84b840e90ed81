/** What the store and the service use of the process: memory and timers. */
import type { Timer } from '../../store/base/runtime.ts'

/** The most memory that the process has held so far. */
export const peakMemoryBytes = () => process.resourceUsage().maxRSS * 1024

/** Timers do not keep the process alive. */
export const timer: Timer = (callback, milliseconds) => {
  const timeout = setTimeout(callback, milliseconds).unref()
  return () => clearTimeout(timeout)
}
