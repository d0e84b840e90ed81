/** Puts a backup into a data directory, with the backups that it builds on. */
import { mkdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { copyDurably, renameDurably } from '../files/atomic-file.ts'
import { checkEnvironment } from '../files/check-environment.ts'
import { sha256Of } from '../files/checksum.ts'
import { dataFile, openEnvironment, StoreError } from '../files/environment.ts'
import { EPOCH_KEY, responsesFolder, type EnvironmentKind } from '../files/layout.ts'
import { PRIVATE_DIRECTORY_MODE } from '../files/private-files.ts'
import { upgradeLayout } from '../log/former-layout.ts'
import {
  fileNames,
  findFile,
  KEYS,
  LOG_PATH,
  OTHERS,
  pathOf,
  readBackup,
  readChain,
  refuseSpecialFiles,
  type Backup,
  type Directories,
} from './folder.ts'
import { applyIncrement, inspectLog } from './increment.ts'

/**
 * Puts the log and the keys of a backup into a data directory that has none, and the catalogue and the journal if it
 * has none. The log gets its name last, so an interrupted restore can be repeated after its keys are removed.
 *
 * @returns the numbers of restored records and the time of the backup
 * @throws StoreError when the backup is not complete, or when the target has a log or keys
 */
export async function restore({ dataDirectory, keysDirectory, folder, hasLog = true }: Directories) {
  const backup = await readBackup(folder)
  const { manifest } = backup
  if (LOG_PATH in manifest.files !== hasLog)
    throw new StoreError(`${folder}: ${hasLog ? 'has no response log' : 'has a response log, but RESPONSE_LOG is set'}`)
  const chain = await readChain(backup)
  const target = responsesFolder(dataDirectory)
  await refuseSpecialFiles([target, keysDirectory])
  for (const path of [...(hasLog ? [target] : []), keysDirectory]) {
    if ((await fileNames(path)).length > 0) throw new StoreError(`${path}: exists; move it away before a restore`)
  }
  for (const [path, sha256] of Object.entries(manifest.files)) await checkFile(findFile(chain, path), sha256)
  for (const ancestor of chain.slice(0, -1))
    await checkFile(join(ancestor.folder, LOG_PATH), ancestor.manifest.files[LOG_PATH])
  const restoring = `${target}.restoring`
  await mkdir(keysDirectory, { recursive: true, mode: PRIVATE_DIRECTORY_MODE })
  if (hasLog) await restoreLog(chain, restoring)
  const { counts } = hasLog ? await inspectLog(restoring) : { counts: { records: 0, damaged: 0 } }
  for (const path of Object.keys(manifest.files).filter((each) => dirname(each) === KEYS))
    await copyDurably(join(folder, path), join(keysDirectory, basename(path)))
  for (const kind of OTHERS) {
    const other = join(dataDirectory, kind)
    if (!(pathOf(kind) in manifest.files) || (await fileNames(other)).length > 0) continue
    await copyChecked(kind, findFile(chain, pathOf(kind)), `${other}.restoring`)
    await renameDurably(`${other}.restoring`, other)
  }
  if (hasLog) await renameDurably(restoring, target)
  return { ...counts, createdAt: manifest.created_at }
}

async function checkFile(path: string, sha256: string | undefined): Promise<void> {
  await refuseSpecialFiles([dirname(path), path])
  const found = await sha256Of(path).catch(() => undefined)
  if (found !== sha256) throw new StoreError(`${path}: is missing or damaged`)
}

/** The full log, to which the increments are then applied in their order. */
async function restoreLog([full, ...increments]: readonly [Backup, ...Backup[]], restoring: string): Promise<void> {
  await copyChecked('responses', join(full.folder, LOG_PATH), restoring)
  const log = openEnvironment({ folder: restoring, kind: 'responses', upgrade: upgradeLayout })
  try {
    // The next process that writes to the log gives it another one, so no increment builds on an earlier backup.
    log.removeSync(EPOCH_KEY)
    for (const { folder } of increments) {
      const copy = `${restoring}.increment`
      await copyChecked('responses', join(folder, LOG_PATH), copy)
      const increment = openEnvironment({ folder: copy, kind: 'responses', upgrade: upgradeLayout })
      applyIncrement(log, increment)
      await increment.close()
      await rm(copy, { recursive: true })
    }
  } finally {
    await log.close()
  }
}

/** Copies the file of an environment into a new folder. One of an interrupted restore is replaced. */
async function copyChecked(kind: EnvironmentKind, file: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: PRIVATE_DIRECTORY_MODE })
  await copyDurably(file, dataFile(folder))
  await checkEnvironment(kind, folder)
}
