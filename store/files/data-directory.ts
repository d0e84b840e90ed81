/** Creates the data directory, and finds out at the start whether it can be used. */
import { mkdir, mkdtemp, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { StoreError } from './environment.ts'
import { errorCode } from '../base/error-code.ts'
import { makePrivateDirectory, PRIVATE_DIRECTORY_MODE } from './private-files.ts'

/** @throws StoreError whose message is one line that names DATA_DIR */
export async function prepareDataDirectory(path: string): Promise<void> {
  const fail = (cause: unknown): never => {
    const code = errorCode(cause) ?? 'unknown error'
    throw new StoreError(`DATA_DIR ${JSON.stringify(path)} cannot be used as a directory (${code})`, { cause })
  }
  // Node repeats a recursive mkdir forever where the system creates nothing, such as below /proc.
  const missing: string[] = []
  for (let each = path; ; each = dirname(each)) {
    const stats = await stat(each).catch((cause: unknown) => (errorCode(cause) === 'ENOENT' ? undefined : fail(cause)))
    if (stats && !stats.isDirectory()) fail(Object.assign(new Error(), { code: 'ENOTDIR' }))
    if (stats) break
    missing.unshift(each)
  }
  if (missing[0] !== undefined) await mkdir(missing[0], { mode: PRIVATE_DIRECTORY_MODE }).catch(fail)
  await makePrivateDirectory(path).catch(fail)
  const probe = await mkdtemp(join(path, '.check-')).catch(fail)
  await rmdir(probe)
}
