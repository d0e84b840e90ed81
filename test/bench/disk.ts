/** The disk that a folder takes. */
import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

const MIB = 2 ** 20
/** The unit of `blocks` in the result of stat. */
const BLOCK_BYTES = 512

/** Allocated, not apparent size: LMDB files are sparse. */
export async function diskMib(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true })
  return entries.reduce((sum, entry) => sum + statSync(join(folder, entry)).blocks * BLOCK_BYTES, 0) / MIB
}
