/** What the store and the service use of the process: process ids, memory, timers. */
import { randomUUID } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import type { Processes } from '../../store/import/building-folder.ts'
import type { Timer } from '../../store/base/runtime.ts'

/** The namespace of process ids that contains all others (`PROC_PID_INIT_INO` of Linux). */
const INITIAL_PID_NAMESPACE = 'pid:[4026531836]'

export const processes: Processes = {
  ownPid: process.pid,
  token: randomUUID(),
  isInContainer: isInContainer(),
  isRunning(id) {
    try {
      return process.kill(id, 0)
    } catch (error) {
      // The process exists and belongs to another user.
      return error instanceof Error && 'code' in error && error.code === 'EPERM'
    }
  },
}

function isInContainer(): boolean {
  try {
    return readlinkSync('/proc/self/ns/pid') !== INITIAL_PID_NAMESPACE
  } catch {
    // Not Linux.
    return false
  }
}

/** The most memory that the process has held so far. */
export const peakMemoryBytes = () => process.resourceUsage().maxRSS * 1024

/** Timers do not keep the process alive. */
export const timer: Timer = (callback, milliseconds) => {
  const timeout = setTimeout(callback, milliseconds).unref()
  return () => clearTimeout(timeout)
}
