/** Reads a file that may be missing. */
import { readFile } from 'node:fs/promises'
import { errorCode } from '../../store/base/error-code.ts'

/** Returns undefined if the file does not exist. */
export async function readIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return undefined
    throw cause
  }
}
