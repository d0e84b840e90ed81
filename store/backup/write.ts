/**
 * Copies the response log, the keys, the catalogue and the journal to a folder, also while a service runs. Every record
 * of the copy is read. Snapshots are not copied, because an import rebuilds them. An incremental backup has only the
 * changes of the log since an earlier backup in the same folder.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { lstat, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import * as z from 'zod'
import { DAY_MS } from '../base/day.ts'
import { copyDurably, renameDurably, syncFile, writeFileAtomically } from '../files/atomic-file.ts'
import { sha256Of } from '../files/checksum.ts'
import { createReserveCheck, FREE_BYTES_MIN, type readFreeBytes } from '../files/disk-space.ts'
import { dataFile, openEnvironment, StoreError } from '../files/environment.ts'
import { responsesFolder, type EnvironmentKind } from '../files/layout.ts'
import { PRIVATE_DIRECTORY_MODE } from '../files/private-files.ts'
import {
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
  type Backup,
  type Directories,
} from './folder.ts'
import { inspectLog, writeIncrement } from './increment.ts'

/** Shorter than the log keeps its changes. It bounds the number of folders that a restore needs. */
const FULL_AFTER_MS = 7 * DAY_MS

interface BackupOptions extends Directories {
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
  const { dataDirectory, folder, keep } = options
  const partial = `${folder}${PARTIAL_SUFFIX}`
  if ((await lstat(folder).catch(() => undefined)) || !existsSync(dirname(folder)))
    throw new StoreError(`${folder}: must be a new folder in an existing one`)
  await removePartial(partial, keep)
  const { ancestors, fullReason } = await writeBackup(options, partial).catch(async (cause: unknown) => {
    await rm(partial, { recursive: true, force: true })
    throw cause
  })
  await renameDurably(partial, folder)
  const backup = await readBackup(folder)
  const { created_at, records, damaged } = backup.manifest
  const log_bytes = statSync(join((ancestors[0] ?? backup).folder, LOG_PATH), { throwIfNoEntry: false })?.size
  const last = readLastBackup(dataDirectory)
  const log_bytes_before = last?.log_bytes === log_bytes ? last?.log_bytes_before : last?.log_bytes
  const note = { created_at, bytes: bytesOf(backup), log_bytes, log_bytes_before }
  if (keep !== undefined) await removeOld(folder, keep)
  // The disk of the data directory can be full or read-only, which is when a backup is needed.
  await writeFileAtomically(lastBackupFile(dataDirectory), `${JSON.stringify(note)}\n`).catch((cause: unknown) => {
    throw new StoreError(`${folder}: is complete, but ${lastBackupFile(dataDirectory)} cannot be written`, { cause })
  })
  const parent = ancestors.at(-1)?.folder
  return { records, damaged, parent: parent && basename(parent), fullReason }
}

const lastBackupFile = (dataDirectory: string) => join(dataDirectory, 'last-backup.json')
const lastBackupSchema = z.object({
  created_at: z.string(),
  bytes: z.int().nonnegative(),
  /** In the full backup that it builds on or is. The journal would hide the loss of the log. */
  log_bytes: z.int().nonnegative().optional(),
  /** In the full backup before that one. */
  log_bytes_before: z.int().nonnegative().optional(),
})

/** For the service, which does not know the folders of backups. Undefined before the first one, or if it is damaged. */
export function readLastBackup(dataDirectory: string) {
  try {
    return lastBackupSchema.parse(JSON.parse(readFileSync(lastBackupFile(dataDirectory), 'utf8')))
  } catch {
    return undefined
  }
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0

const bytesOf = ({ folder, manifest }: Backup) =>
  Object.keys(manifest.files).reduce((sum, path) => sum + sizeOf(join(folder, path)), 0)

/** What an interrupted backup has left: with this name, and with any name if old backups are removed. */
async function removePartial(partial: string, keep: number | undefined): Promise<void> {
  const names = (await readdir(dirname(partial))).filter((name) => name.endsWith(PARTIAL_SUFFIX))
  for (const path of names.map((name) => join(dirname(partial), name)))
    if (path === partial || keep !== undefined) await remove(path)
}

/** Removes all but the newest backups and those that they build on. Folders that are no complete backups stay. */
async function removeOld(folder: string, keep: number): Promise<void> {
  const backups = await findBackups(dirname(folder))
  // If the clock was set back, the new one is not the newest.
  const newest = backups.filter((backup, index) => index < keep || backup.folder === folder)
  const kept = new Set<string | undefined>(newest.map(({ sha256 }) => sha256))
  // A backup is newer than the one that it builds on, so it comes first.
  for (const backup of backups) {
    if (kept.has(backup.sha256)) kept.add(backup.manifest.parent)
    else await remove(backup.folder)
  }
}

/** Renames the folder first, so that a kill leaves no complete one, and another process that writes it fails. */
async function remove(folder: string): Promise<void> {
  const removed = `${folder}${PARTIAL_SUFFIX}`
  await rm(removed, { recursive: true, force: true })
  await rename(folder, removed)
  await rm(removed, { recursive: true })
}

async function writeBackup(options: BackupOptions, partial: string) {
  const { dataDirectory, keysDirectory, folder, now, hasLog = true, freeBytes } = options
  // A backup leaves the space that sales and an import need, if it is on their disk.
  const reserve = OTHERS.reduce((sum, kind) => sum + sizeOf(join(dataDirectory, pathOf(kind))), FREE_BYTES_MIN.import)
  const check = (logBytes = 0) => createReserveCheck(dirname(folder), reserve + logBytes, freeBytes)()
  check()
  for (const path of [partial, join(partial, KEYS)]) await mkdir(path, { mode: PRIVATE_DIRECTORY_MODE })
  const log = hasLog ? await writeLog(options, responsesFolder(partial), check) : undefined
  const paths = hasLog ? [LOG_PATH] : []
  for (const kind of OTHERS) {
    if (!existsSync(join(dataDirectory, pathOf(kind)))) continue
    await copyEnvironment(kind, { from: join(dataDirectory, kind), to: join(partial, kind) })
    paths.push(pathOf(kind))
  }
  for (const name of await fileNames(keysDirectory)) {
    await copyDurably(join(keysDirectory, name), join(partial, KEYS, name))
    paths.push(`${KEYS}/${name}`)
  }
  const files: Record<string, string> = {}
  for (const path of paths) files[path] = await sha256Of(join(partial, path))
  const { counts, state, ancestors = [], fullReason } = log ?? { counts: { records: 0, damaged: 0 } }
  const parent = ancestors.at(-1)
  for (const kind of OTHERS) {
    const isInherited = files[pathOf(kind)] === parent?.manifest.files[pathOf(kind)]
    if (isInherited) await rm(join(partial, kind), { recursive: true, force: true })
  }
  const created_at = now().toISOString()
  const manifest: Backup['manifest'] = { version: 2, created_at, ...counts, files, log: state, parent: parent?.sha256 }
  await writeFileAtomically(join(partial, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`)
  return { ancestors, fullReason }
}

/** Copies the changes since the newest backup in the same folder, or the whole log if that is not possible. */
async function writeLog(options: BackupOptions, to: string, check: (logBytes?: number) => void) {
  const from = responsesFolder(options.dataDirectory)
  const { ancestors, fullReason } = options.incremental ? await findAncestors(options) : full()
  const parent = ancestors.at(-1)
  const state = parent && (await writeIncrement({ from, to, before: parent.manifest.log }, check))
  if (state) {
    await syncFile(dataFile(to))
    return { ...(await inspectLog(to)), state, ancestors, fullReason }
  }
  check(sizeOf(dataFile(from)))
  await copyEnvironment('responses', { from, to })
  return {
    ...(await inspectLog(to)),
    ...full(parent ? 'the changes of this log since the last one are not known' : fullReason),
  }
}

const full = (fullReason?: string) => ({ ancestors: [] as Backup[], fullReason })

/** The newest backup in the same folder, and those that it builds on, the full one first. */
async function findAncestors({ folder, now }: BackupOptions) {
  const time = now()
  // Later ones are from before the clock was set back.
  const isEarlier = ({ manifest }: Backup) => LOG_PATH in manifest.files && manifest.created_at < time.toISOString()
  const parent = (await findBackups(dirname(folder))).find(isEarlier)
  if (!parent) return full('there is no earlier one')
  const chain = await readChain(parent).catch(() => undefined)
  if (!chain) return full('the last one has lost a folder that it builds on')
  if (Date.parse(chain[0].manifest.created_at) <= time.getTime() - FULL_AFTER_MS)
    return full('the last full one is a week old')
  return { ancestors: chain, fullReason: undefined }
}

/** LMDB copies the state of one transaction, while other processes read and write. The copy has no free pages. */
async function copyEnvironment(kind: EnvironmentKind, { from, to }: { from: string; to: string }): Promise<void> {
  await mkdir(to, { mode: PRIVATE_DIRECTORY_MODE })
  // A log of the layout before is copied as it is. A restore upgrades the copy.
  const environment = openEnvironment({ folder: from, kind, readOnly: true, upgrade: () => undefined })
  try {
    await environment.backup(to, true)
  } catch (cause) {
    throw new StoreError(`${to}: ${from} could not be copied`, { cause })
  } finally {
    await environment.close()
  }
  await syncFile(dataFile(to))
}
