/** Reads a file up to a limit. It may grow, or be a pipe or a device without an end. */
import type { FileHandle } from 'node:fs/promises'
import { readUpTo } from '../../base/read-body.ts'

/** Reads and closes a file. Undefined if it has more than `bytesMax` bytes. Its stated size is not trusted. */
export function readFileUpTo(file: FileHandle, bytesMax: number): Promise<Uint8Array | undefined> {
  return readUpTo(file.createReadStream() as AsyncIterable<Buffer>, bytesMax)
}
