/** Timers of a service that end when a test says so. Only those with a chosen duration are held; the others never end. */
import type { Timer } from '../../store/base/runtime.ts'

export interface HeldTimers {
  timer: Timer
  /** Ends all timers that are held now. */
  fire(): void
}

export function holdTimers(isHeld: (milliseconds: number) => boolean): HeldTimers {
  const held = new Set<{ callback: () => void }>()
  return {
    timer(callback, milliseconds) {
      const entry = { callback }
      if (isHeld(milliseconds)) held.add(entry)
      return () => void held.delete(entry)
    },
    fire() {
      const due = [...held]
      // Timers that the callbacks set are not due yet.
      held.clear()
      for (const { callback } of due) callback()
    },
  }
}
