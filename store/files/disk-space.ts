/**
 * Refuses new work when little disk space is free, so that work in progress can be finished. LMDB must not fill the
 * disk: its message for a failed write overruns a buffer (lmdb 3.5.6, `last_error` in mdb.c) and can crash the process.
 */
import { statfsSync } from 'node:fs'
import { StoreError } from './environment.ts'

const MIB = 2 ** 20
/** The free space that new work needs (contract 8.13). An import stops earlier than sales, so it cannot block them. */
export const FREE_BYTES_MIN = { sale: 64 * MIB, import: 256 * MIB }

/** Returns the free bytes of the file system that contains a folder. */
export function readFreeBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    // Some file systems do not report it. A failed write is still detected.
    return Infinity
  }
}

/** Nothing was written. */
export class DiskSpaceError extends StoreError {
  override name = 'DiskSpaceError'
}

/** Returns a check that throws a {@link DiskSpaceError} while less than `reserve` bytes are free. */
export function createReserveCheck(folder: string, reserve: number, free = readFreeBytes): () => void {
  return () => {
    if (free(folder) < reserve)
      throw new DiskSpaceError(`${folder}: less than ${Math.ceil(reserve / MIB)} MiB are free on the disk`)
  }
}
