/** Creates the data directory, and finds out at the start whether it can be used. */
import { mkdtemp, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '../../base/error-code.ts'
import { StoreError } from './environment.ts'
import { makePrivateDirectory } from './private-files.ts'

/** @throws StoreError whose message is one line that names DATA_DIR */
export async function prepareDataDirectory(path: string): Promise<void> {
  try {
    await makePrivateDirectory(path)
    await rmdir(await mkdtemp(join(path, '.check-')))
  } catch (cause) {
    const code = errorCode(cause) ?? 'unknown error'
    throw new StoreError(`DATA_DIR ${JSON.stringify(path)} cannot be used as a directory (${code})`, { cause })
  }
}
