/** Reads a file up to a limit. It may grow, or be a pipe or a device without an end. */
import type { FileHandle } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'

/** Reads and closes a file. Undefined if it has more than `bytesMax` bytes. Its stated size is not trusted. */
export async function readUpTo(file: FileHandle, bytesMax: number): Promise<Buffer | undefined> {
  // `end` is included, so this is one byte more than allowed.
  const bytes = await buffer(file.createReadStream({ end: bytesMax }))
  return bytes.length > bytesMax ? undefined : bytes
}
