/**
 * Room on the disk that only what was begun may take. A sale whose answer is on disk is then written to its end, and LMDB
 * does not meet the end of the disk itself: its report of a failed write overruns its buffer (lmdb 3.5.6, `last_error` in
 * mdb.c), after which the process may die.
 */
import { statfsSync } from 'node:fs'
import { StoreError } from './open.ts'

const MIB = 2 ** 20
/** What must be free for something new to begin. An import leaves sales their room. */
export const RESERVE_BYTES = { sale: 64 * MIB, import: 256 * MIB }
/** A look is a call of the system. */
const LOOK_EVERY_MS = 1_000

/** Answers the bytes that are free where a folder is. */
export type FreeBytes = (folder: string) => number

export const freeBytes: FreeBytes = (folder) => {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    // Some file systems don't say. A write that fails is told all the same.
    return Infinity
  }
}

/** Makes the check of one folder: it throws a {@link StoreError} while less than the reserve is free. */
export function reserveIn(folder: string, reserve: number, free: FreeBytes = freeBytes): () => void {
  let lookedAt = -Infinity
  let isShort = false
  return () => {
    const now = performance.now()
    if (now - lookedAt >= LOOK_EVERY_MS) {
      lookedAt = now
      isShort = free(folder) < reserve
    }
    if (isShort) throw new StoreError(`${folder}: less than ${reserve / MIB} MiB are free on the disk`)
  }
}
