/**
 * Copies the response log, the keys, the catalogue and the journal to a folder, also while a service runs. Every record
 * of the copy is read. Snapshots are not copied, because an import rebuilds them.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { lstat, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { copyDurably, renameDurably, syncFile, writeFileAtomically } from '../files/atomic-file.ts'
import { sha256Of, undefinedIfCorrupt } from '../files/checksum.ts'
import { createReserveCheck, FREE_BYTES_MIN, type readFreeBytes } from '../files/disk-space.ts'
import { dataFile, openEnvironment, StoreError } from '../files/environment.ts'
import { responsesFolder, type EnvironmentKind } from '../files/layout.ts'
import { PRIVATE_DIRECTORY_MODE } from '../files/private-files.ts'
import { openRanges, readRecord } from '../log/ranges.ts'
import {
  fileNames,
  findBackups,
  KEYS,
  LOG_PATH,
  MANIFEST_FILE,
  OTHERS,
  PARTIAL_SUFFIX,
  pathOf,
  type Directories,
  type Manifest,
} from './folder.ts'

interface BackupOptions extends Directories {
  now: () => Date
  /** The backups that remain in the same folder, with the new one. Default: all. */
  keep?: number
  /** Replaced by tests. */
  freeBytes?: typeof readFreeBytes
}

/**
 * Writes a folder with another name, and gives it its name when it is complete.
 * @returns the numbers of records in the folder
 * @throws StoreError when the folder exists, the disk is nearly full or the log cannot be read; the message is one line
 */
export async function backUp(options: BackupOptions) {
  const { dataDirectory, folder, keep } = options
  const partial = `${folder}${PARTIAL_SUFFIX}`
  if ((await lstat(folder).catch(() => undefined)) || !existsSync(dirname(folder)))
    throw new StoreError(`${folder}: must be a new folder in an existing one`)
  await removePartial(partial, keep)
  const manifest = await writeBackup(options, partial).catch(async (cause: unknown) => {
    await rm(partial, { recursive: true, force: true })
    throw cause
  })
  await renameDurably(partial, folder)
  const note = noteOf(folder, manifest, readLastBackup(dataDirectory))
  if (keep !== undefined) await removeOld(folder, keep)
  // The disk of the data directory can be full or read-only, which is when a backup is needed.
  await writeFileAtomically(lastBackupFile(dataDirectory), `${JSON.stringify(note)}\n`).catch((cause: unknown) => {
    throw new StoreError(`${folder}: is complete, but ${lastBackupFile(dataDirectory)} cannot be written`, { cause })
  })
  return { records: manifest.records, damaged: manifest.damaged }
}

const lastBackupFile = (dataDirectory: string) => join(dataDirectory, 'last-backup.json')
const lastBackupSchema = z.object({
  created_at: z.string(),
  bytes: z.int().nonnegative(),
  /** Of the log alone. The journal would hide the loss of the log. */
  log_bytes: z.int().nonnegative().optional(),
  /** Of the log in the backup before, or in the last one with which the smaller logs since are compared. */
  log_bytes_before: z.int().nonnegative().optional(),
})

type LastBackup = z.infer<typeof lastBackupSchema>

/** For the service, which does not know the folders of backups. Undefined before the first one, or if it is damaged. */
export function readLastBackup(dataDirectory: string): LastBackup | undefined {
  try {
    return lastBackupSchema.parse(JSON.parse(readFileSync(lastBackupFile(dataDirectory), 'utf8')))
  } catch {
    return undefined
  }
}

/** Whether the log has less than half of its size, so that most of it may be lost. */
export function hasLostLog({ log_bytes = 0, log_bytes_before = 0 }: Partial<LastBackup>): boolean {
  return log_bytes < log_bytes_before / 2
}

function noteOf(folder: string, { created_at, files }: Manifest, last: LastBackup | undefined): LastBackup {
  const bytes = Object.keys(files).reduce((sum, path) => sum + sizeOf(join(folder, path)), 0)
  const log_bytes = LOG_PATH in files ? sizeOf(join(folder, LOG_PATH)) : undefined
  // Otherwise the second backup after a loss would look like any other.
  const isStillLost = hasLostLog({ log_bytes, log_bytes_before: last?.log_bytes_before })
  return { created_at, bytes, log_bytes, log_bytes_before: isStillLost ? last?.log_bytes_before : last?.log_bytes }
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** What an interrupted backup has left: with this name, and with any name if old backups are removed. */
async function removePartial(partial: string, keep: number | undefined): Promise<void> {
  const names = (await readdir(dirname(partial))).filter((name) => name.endsWith(PARTIAL_SUFFIX))
  for (const path of names.map((name) => join(dirname(partial), name)))
    if (path === partial || keep !== undefined) await remove(path)
}

/** Removes all but the newest backups. Folders that are no complete backups stay. */
async function removeOld(folder: string, keep: number): Promise<void> {
  const backups = await findBackups(dirname(folder))
  // If the clock was set back, the new one is not the newest.
  for (const [index, backup] of backups.entries()) if (index >= keep && backup !== folder) await remove(backup)
}

/** Renames the folder first, so that a kill leaves no complete one, and another process that writes it fails. */
async function remove(folder: string): Promise<void> {
  const removed = `${folder}${PARTIAL_SUFFIX}`
  await rm(removed, { recursive: true, force: true })
  await rename(folder, removed)
  await rm(removed, { recursive: true })
}

async function writeBackup(options: BackupOptions, partial: string): Promise<Manifest> {
  const { dataDirectory, keysDirectory, folder, now, hasLog = true, freeBytes } = options
  // A backup leaves the space that sales and an import need, if it is on their disk.
  const reserve = OTHERS.reduce((sum, kind) => sum + sizeOf(join(dataDirectory, pathOf(kind))), FREE_BYTES_MIN.import)
  const log = responsesFolder(dataDirectory)
  createReserveCheck(dirname(folder), reserve + (hasLog ? sizeOf(dataFile(log)) : 0), freeBytes)()
  for (const path of [partial, join(partial, KEYS)]) await mkdir(path, { mode: PRIVATE_DIRECTORY_MODE })
  const files: Record<string, string> = {}
  let counts = { records: 0, damaged: 0 }
  if (hasLog) {
    files[LOG_PATH] = await copyEnvironment('responses', { from: log, to: responsesFolder(partial) })
    counts = await readLog(responsesFolder(partial))
  }
  for (const kind of OTHERS) {
    if (!existsSync(join(dataDirectory, pathOf(kind)))) continue
    files[pathOf(kind)] = await copyEnvironment(kind, { from: join(dataDirectory, kind), to: join(partial, kind) })
  }
  for (const name of await fileNames(keysDirectory)) {
    await copyDurably(join(keysDirectory, name), join(partial, KEYS, name))
    files[`${KEYS}/${name}`] = await sha256Of(join(partial, KEYS, name))
  }
  const manifest: Manifest = { version: 1, created_at: now().toISOString(), ...counts, files }
  await writeFileAtomically(join(partial, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`)
  return manifest
}

/**
 * LMDB copies the state of one transaction, while other processes read and write. The copy has no free pages, because
 * LMDB reads each page in use. A damaged one ends this process, and the backup is not complete.
 * @returns the digest of the copy
 */
async function copyEnvironment(kind: EnvironmentKind, { from, to }: { from: string; to: string }): Promise<string> {
  await mkdir(to, { mode: PRIVATE_DIRECTORY_MODE })
  const environment = openEnvironment({ folder: from, kind, readOnly: true })
  try {
    await environment.backup(to, true)
  } catch (cause) {
    throw new StoreError(`${to}: ${from} could not be copied`, { cause })
  } finally {
    await environment.close()
  }
  await syncFile(dataFile(to))
  return sha256Of(dataFile(to))
}

/**
 * Reads every record of a copy of the log. `damaged` ones do not match their checksum: the service refuses their
 * payments, and the other records work.
 */
async function readLog(folder: string): Promise<{ records: number; damaged: number }> {
  const environment = openEnvironment({ folder, kind: 'responses', readOnly: true })
  try {
    const ranges = openRanges(environment)
    const counts = { records: 0, damaged: 0 }
    for (const key of ranges.records.keys())
      counts[undefinedIfCorrupt(() => readRecord(ranges, key)) ? 'records' : 'damaged'] += 1
    return counts
  } catch (cause) {
    throw new StoreError(`${folder}: the response log cannot be read`, { cause })
  } finally {
    await environment.close()
    await rm(join(folder, 'lock.mdb'), { force: true })
  }
}
