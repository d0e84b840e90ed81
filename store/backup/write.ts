/**
 * Copies the response log, the keys, the catalogue and the journal to a folder, also while a service runs. Every record
 * of the copy is read. Snapshots are not copied, because an import rebuilds them. An incremental backup has of the log
 * only what an earlier backup beside it lacks.
 */
import { existsSync, readFileSync } from 'node:fs'
import { lstat, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import { DAY_MS } from '../base/day.ts'
import { writeFileAtomically } from '../files/atomic-file.ts'
import { DiskSpaceError, FREE_BYTES_MIN, readFreeBytes } from '../files/disk-space.ts'
import { openEnvironment, StoreError } from '../files/environment.ts'
import { catalogFolder, responsesFolder, type EnvironmentKind } from '../files/layout.ts'
import { PRIVATE_DIRECTORY_MODE } from '../files/private-files.ts'
import {
  copyDurably,
  DATA_FILE,
  fileNames,
  findBackups,
  KEYS,
  LOG_PATH,
  MANIFEST_FILE,
  OTHERS,
  PARTIAL_SUFFIX,
  pathOf,
  readBackup,
  readChain,
  renameDurably,
  sha256Of,
  syncFile,
  type Backup,
  type Manifest,
} from './folder.ts'
import { inspectLog, writeIncrement } from './increment.ts'

/** Shorter than the log keeps its changes. It bounds the number of folders that a restore needs. */
const FULL_AFTER_MS = 7 * DAY_MS

interface BackupOptions {
  dataDirectory: string
  keysDirectory: string
  /** The new folder. */
  folder: string
  /** False if the response log is in a database, which has a backup of its own. */
  hasLog?: boolean
  /** Builds on the newest backup in the same folder, if possible. */
  incremental?: boolean
  now: () => Date
  /** The backups that remain in the same folder, with the new one and those that they build on. Default: all. */
  keep?: number
  /** Replaced by tests. */
  freeBytes?: typeof readFreeBytes
}

/**
 * Writes a folder with another name, and gives it its name when it is complete.
 * @returns the numbers of records in the folder, the folder that an incremental backup builds on, and the reason of a
 * full one if an incremental one was requested
 * @throws StoreError when the folder exists, the disk is nearly full or the log cannot be read; the message is one line
 */
export async function backUp(options: BackupOptions) {
  const { folder, keep } = options
  const partial = `${folder}${PARTIAL_SUFFIX}`
  if (await lstat(folder).catch(() => undefined))
    throw new StoreError(`${folder}: must be a new folder in an existing one`)
  await removePartial(partial, keep)
  const result = await writeBackup(options, partial).catch(async (cause: unknown) => {
    await rm(partial, { recursive: true, force: true })
    throw cause
  })
  await renameDurably(partial, folder)
  await noteBackup(options)
  if (keep !== undefined) await removeOld(folder, keep)
  return result
}

const lastBackupFile = (dataDirectory: string) => join(dataDirectory, 'last-backup.json')
const lastBackupSchema = z.strictObject({
  created_at: z.string(),
  bytes: z.int().nonnegative(),
  /** Of the full backup that it builds on or is. */
  full_bytes: z.int().nonnegative(),
})

/** For the metrics of the service, which does not know the folders of backups. */
async function noteBackup({ dataDirectory, folder }: BackupOptions): Promise<void> {
  const backup = await readBackup(folder)
  const [full] = await readChain(backup)
  const { created_at } = backup.manifest
  const note = { created_at, bytes: await sizeOf(backup), full_bytes: await sizeOf(full) }
  await writeFileAtomically(lastBackupFile(dataDirectory), `${JSON.stringify(note)}\n`)
}

async function sizeOf({ folder, manifest }: Backup): Promise<number> {
  let bytes = 0
  for (const path of Object.keys(manifest.files)) bytes += await sizeOfFile(join(folder, path))
  return bytes
}

async function sizeOfFile(path: string): Promise<number> {
  return (await stat(path).catch(() => ({ size: 0 }))).size
}

/** The time and the size of the last complete backup. Undefined before the first one. */
export function readLastBackup(dataDirectory: string) {
  const path = lastBackupFile(dataDirectory)
  if (!existsSync(path)) return undefined
  const note = JSON.parse(readFileSync(path, 'utf8')) as { bytes: number }
  // Earlier versions only made full ones.
  return lastBackupSchema.parse({ full_bytes: note.bytes, ...note })
}

/** What an interrupted backup has left: with this name, and with any name if old backups are removed. */
async function removePartial(partial: string, keep: number | undefined): Promise<void> {
  const parent = dirname(partial)
  const others = keep === undefined ? [] : await readdir(parent).catch(() => [])
  const paths = others.filter((name) => name.endsWith(PARTIAL_SUFFIX)).map((name) => join(parent, name))
  for (const path of [partial, ...paths]) await rm(path, { recursive: true, force: true })
}

/** Removes all but the newest backups and those that they build on. Folders that are no complete backups stay. */
async function removeOld(newFolder: string, keep: number): Promise<void> {
  const parent = dirname(newFolder)
  const backups = await findBackups(parent)
  // If the clock was set back, the new one is not the newest.
  const kept = new Set([newFolder, ...backups.slice(0, keep).map(({ folder }) => folder)])
  // A backup is newer than the one that it builds on, so it comes first.
  for (const { folder, manifest } of backups) {
    if (!kept.has(folder)) await rm(folder, { recursive: true })
    else if (manifest.parent) kept.add(join(parent, manifest.parent.folder))
  }
}

async function writeBackup(options: BackupOptions, partial: string) {
  const { dataDirectory, keysDirectory, now, hasLog = true } = options
  const check = await createSpaceCheck(options)
  check()
  await makeNewDirectory(partial)
  await mkdir(join(partial, KEYS), { mode: PRIVATE_DIRECTORY_MODE })
  const log = hasLog ? await writeLog(options, responsesFolder(partial), check) : undefined
  const parent = log?.parent
  const files: Record<string, string> = hasLog ? { [LOG_PATH]: await sha256Of(join(partial, LOG_PATH)) } : {}
  for (const [kind, folderOf] of Object.entries(OTHERS) as [EnvironmentKind, typeof catalogFolder][]) {
    if (!(await fileNames(folderOf(dataDirectory))).includes(DATA_FILE)) continue
    const [path, copy] = [pathOf(folderOf), folderOf(partial)]
    await copyEnvironment(kind, { from: folderOf(dataDirectory), to: copy })
    files[path] = await sha256Of(join(partial, path))
    if (files[path] === parent?.manifest.files[path]) await rm(copy, { recursive: true })
  }
  for (const name of await fileNames(keysDirectory)) {
    await copyDurably(join(keysDirectory, name), join(partial, KEYS, name))
    files[`${KEYS}/${name}`] = await sha256Of(join(partial, KEYS, name))
  }
  const counts = log?.counts ?? { records: 0, damaged: 0 }
  const manifest: Manifest = {
    version: 2,
    created_at: now().toISOString(),
    ...counts,
    files,
    log: log?.state,
    parent: parent && { folder: basename(parent.folder), sha256: parent.sha256 },
  }
  await writeFileAtomically(join(partial, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`)
  return { ...counts, parent: manifest.parent?.folder, fullReason: log?.fullReason }
}

/** Copies what has changed since the newest backup in the same folder if that is possible, and else the whole log. */
async function writeLog(options: BackupOptions, to: string, check: SpaceCheck) {
  const from = responsesFolder(options.dataDirectory)
  const found = options.incremental ? await findParent(options) : ({ kind: 'full', reason: undefined } as const)
  const result = found.kind === 'full' ? found : await writeIncrement({ from, to, parent: found.parent }, check)
  if (result.kind === 'full') {
    check(await sizeOfFile(join(from, DATA_FILE)))
    await copyEnvironment('responses', { from, to })
  } else await syncFile(join(to, DATA_FILE))
  const { state, ...counts } = await inspectLog(to)
  return result.kind === 'full'
    ? { counts, state, parent: undefined, fullReason: result.reason }
    : { counts, state: result.state, parent: result.parent, fullReason: undefined }
}

/** The newest backup in the same folder, without those from before the clock was set back. */
async function findParent({ folder, now }: BackupOptions) {
  const full = (reason: string) => ({ kind: 'full', reason }) as const
  const time = now().toISOString()
  const backups = await findBackups(dirname(folder))
  const parent = backups.find(({ manifest }) => LOG_PATH in manifest.files && manifest.created_at < time)
  if (!parent) return full('there is no earlier one')
  const chain = await readChain(parent).catch(() => undefined)
  if (!chain) return full('the last one has lost a folder that it builds on')
  const first = Date.parse(chain[0].manifest.created_at)
  if (first <= now().getTime() - FULL_AFTER_MS) return full('the last full one is a week old')
  return { kind: 'parent', parent } as const
}

type SpaceCheck = (logBytes?: number) => void

/** A backup leaves the space that sales and an import need, if it is on their disk. */
async function createSpaceCheck(options: BackupOptions): Promise<SpaceCheck> {
  const { dataDirectory, folder, freeBytes = readFreeBytes } = options
  const others = Object.values(OTHERS).map((folderOf) => sizeOfFile(join(folderOf(dataDirectory), DATA_FILE)))
  const reserve = (await Promise.all(others)).reduce((sum, bytes) => sum + bytes, FREE_BYTES_MIN.import)
  return (logBytes = 0) => {
    const needed = reserve + logBytes
    if (freeBytes(dirname(folder)) < needed)
      throw new DiskSpaceError(`${folder}: a backup may need ${Math.ceil(needed / 2 ** 20)} MiB, which are not free`)
  }
}

/** LMDB copies the state of one transaction, while other processes read and write. The copy has no free pages. */
async function copyEnvironment(kind: EnvironmentKind, { from, to }: { from: string; to: string }): Promise<void> {
  await mkdir(to, { mode: PRIVATE_DIRECTORY_MODE })
  const environment = openEnvironment({ folder: from, kind, readOnly: true })
  try {
    await environment.backup(to, true)
  } catch (cause) {
    throw new StoreError(`${to}: ${from} could not be copied`, { cause })
  } finally {
    await environment.close()
  }
  await syncFile(join(to, DATA_FILE))
}

async function makeNewDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: PRIVATE_DIRECTORY_MODE })
  } catch (cause) {
    throw new StoreError(`${path}: must be a new folder in an existing one`, { cause })
  }
}
