/** Timers for tests that let no schedule run by itself. */
import type { Timer } from '../../base/runtime.ts'

/** The longest pause within a request. Schedules and time limits are longer. */
const PAUSE_MS_MAX = 2_000

/** Ends pauses at once. Schedules and time limits never fire. */
export const pausesOnly: Timer = (callback, milliseconds) => {
  if (milliseconds > PAUSE_MS_MAX) return () => undefined
  const immediate = setImmediate(callback)
  return () => clearImmediate(immediate)
}

/** Pauses and short time limits take their time. Schedules and long time limits never fire. */
export const shortTimers: Timer = (callback, milliseconds) => {
  if (milliseconds > PAUSE_MS_MAX) return () => undefined
  const timeout = setTimeout(callback, milliseconds)
  return () => clearTimeout(timeout)
}

/** Never fires. */
export const neverTimer: Timer = () => () => undefined

/** A timer that fires when the test says so. Timers for which `isHeld` is false never fire. */
export function manualTimer(isHeld: (milliseconds: number) => boolean = () => true) {
  const waiting = new Set<{ callback: () => void; milliseconds: number }>()
  const timer: Timer = (callback, milliseconds) => {
    const entry = { callback, milliseconds }
    if (isHeld(milliseconds)) waiting.add(entry)
    return () => void waiting.delete(entry)
  }
  return {
    timer,
    /** The pending delays. */
    times: () => [...waiting].map(({ milliseconds }) => milliseconds),
    /** Fires every timer with at most this delay. Timers that the callbacks set are not due yet. */
    pass: (delay = Infinity) => {
      const due = [...waiting].filter(({ milliseconds }) => milliseconds <= delay)
      for (const entry of due) waiting.delete(entry)
      for (const { callback } of due) callback()
    },
  }
}
