/** Puts a backup into a data directory. Its files are those that the backup has read, because their digests fit. */
import { mkdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { copyDurably, renameDurably } from '../files/atomic-file.ts'
import { sha256Of } from '../files/checksum.ts'
import { dataFile, StoreError } from '../files/environment.ts'
import { responsesFolder } from '../files/layout.ts'
import { PRIVATE_DIRECTORY_MODE } from '../files/private-files.ts'
import {
  fileNames,
  KEYS,
  LOG_PATH,
  OTHERS,
  pathOf,
  readManifest,
  refuseSpecialFiles,
  type Directories,
} from './folder.ts'

/**
 * Puts the log and the keys of a backup into a data directory that has none, and the catalogue and the journal if it
 * has none. The log gets its name last, so an interrupted restore can be repeated after its keys are removed.
 *
 * @returns the numbers of restored records and the time of the backup
 * @throws StoreError when the backup is not complete, or when the target has a log or keys
 */
export async function restore({ dataDirectory, keysDirectory, folder, hasLog = true }: Directories) {
  const { files, records, damaged, created_at: createdAt } = await readManifest(folder)
  if (LOG_PATH in files !== hasLog)
    throw new StoreError(`${folder}: ${hasLog ? 'has no response log' : 'has a response log, but RESPONSE_LOG is set'}`)
  const target = responsesFolder(dataDirectory)
  await refuseSpecialFiles([target, keysDirectory])
  for (const path of [...(hasLog ? [target] : []), keysDirectory]) {
    if ((await fileNames(path)).length > 0) throw new StoreError(`${path}: exists; move it away before a restore`)
  }
  for (const [path, sha256] of Object.entries(files)) await checkFile(join(folder, path), sha256)
  const restoring = `${target}.restoring`
  if (hasLog) await copyEnvironment(join(folder, LOG_PATH), restoring)
  await mkdir(keysDirectory, { recursive: true, mode: PRIVATE_DIRECTORY_MODE })
  for (const path of Object.keys(files).filter((each) => dirname(each) === KEYS))
    await copyDurably(join(folder, path), join(keysDirectory, basename(path)))
  for (const kind of OTHERS) {
    const other = join(dataDirectory, kind)
    if (!(pathOf(kind) in files) || (await fileNames(other)).length > 0) continue
    await copyEnvironment(join(folder, pathOf(kind)), `${other}.restoring`)
    await renameDurably(`${other}.restoring`, other)
  }
  if (hasLog) await renameDurably(restoring, target)
  return { records, damaged, createdAt }
}

async function checkFile(path: string, sha256: string): Promise<void> {
  await refuseSpecialFiles([dirname(path), path])
  const found = await sha256Of(path).catch(() => undefined)
  if (found !== sha256) throw new StoreError(`${path}: is missing or damaged`)
}

/** Copies the file of an environment into a new folder. One of an interrupted restore is replaced. */
async function copyEnvironment(file: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: PRIVATE_DIRECTORY_MODE })
  await copyDurably(file, dataFile(folder))
}
