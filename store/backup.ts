/**
 * Copies the response log, the keys, the catalogue and the journal to a folder, also while a service runs, and puts
 * such a copy back. Every record is read after each copy. Snapshots are not copied, because an import rebuilds them.
 */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { constants, copyFile, lstat, mkdir, open, readdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import * as z from 'zod'
import { syncDirectory, writeFileAtomically } from './files/atomic-file.ts'
import { checkEnvironment } from './files/check-environment.ts'
import { undefinedIfCorrupt } from './files/checksum.ts'
import { DiskSpaceError, FREE_BYTES_MIN, readFreeBytes } from './files/disk-space.ts'
import { openEnvironment, StoreError } from './files/environment.ts'
import { errorCode } from './base/error-code.ts'
import { catalogFolder, historyFolder, responsesFolder, type EnvironmentKind } from './files/layout.ts'
import { PRIVATE_DIRECTORY_MODE } from './files/private-files.ts'
import { recordsIn } from './log/former-layout.ts'
import { decodeRecord } from './log/record.ts'

/** The folder of a backup that is not complete ends with it. */
const PARTIAL_SUFFIX = '.partial'
/** A folder without it is not a complete backup. */
const MANIFEST_FILE = 'backup.json'
const KEYS = 'keys'
const DATA_FILE = 'data.mdb'
/** The response log in a backup. */
const LOG_PATH = join(responsesFolder(''), DATA_FILE)
/** Environments that are copied if they exist, by kind. */
const OTHERS = { catalog: catalogFolder, history: historyFolder } as const
const pathOf = (folderOf: (directory: string) => string) => join(folderOf(''), DATA_FILE)
const PRIVATE_FILE_MODE = 0o600

const manifestSchema = z.strictObject({
  version: z.literal(1),
  /** ISO 8601, in UTC. */
  created_at: z.string(),
  records: z.int().nonnegative(),
  damaged: z.int().nonnegative(),
  /** SHA-256 in hexadecimal digits, by path below the folder. */
  files: z.record(
    z.string().regex(/^((?:responses|catalog|history)\/data\.mdb|keys\/[^/\\]+)$/),
    z.string().regex(/^[0-9a-f]{64}$/),
  ),
})

interface BackupOptions {
  dataDirectory: string
  keysDirectory: string
  /** The folder of the backup. */
  folder: string
  /** False if the response log is in a database, which has a backup of its own. */
  hasLog?: boolean
}

interface NewBackupOptions extends BackupOptions {
  now: () => Date
  /** Backups that remain beside the new one, with it. Older ones and partial ones are removed. Default: all remain. */
  keep?: number
  /** Replaced by tests. */
  freeBytes?: typeof readFreeBytes
}

/**
 * Writes a folder with another name, and gives it its name when it is complete.
 * @returns the numbers of records in the copy
 * @throws StoreError when the folder exists, the disk is nearly full or the log cannot be read; the message is one line
 */
export async function backUp(options: NewBackupOptions): Promise<RecordCounts> {
  const { folder, keep } = options
  const partial = `${folder}${PARTIAL_SUFFIX}`
  if (await lstat(folder).catch(() => undefined))
    throw new StoreError(`${folder}: must be a new folder in an existing one`)
  await removePartial(partial, keep)
  await checkFreeBytes(options)
  const counts = await writeBackup({ ...options, folder: partial })
  await renameDurably(partial, folder)
  await noteBackup(options)
  if (keep !== undefined) await removeOld(dirname(folder), keep)
  return counts
}

const lastBackupFile = (dataDirectory: string) => join(dataDirectory, 'last-backup.json')
const lastBackupSchema = z.strictObject({ created_at: z.string(), bytes: z.int().nonnegative() })

/** For the metrics of the service, which does not know the folders of backups. */
async function noteBackup({ dataDirectory, folder }: NewBackupOptions): Promise<void> {
  const { created_at, files } = await readManifest(folder)
  let bytes = 0
  for (const path of Object.keys(files)) bytes += (await stat(join(folder, path))).size
  await writeFileAtomically(lastBackupFile(dataDirectory), `${JSON.stringify({ created_at, bytes })}\n`)
}

/** The time and the size of the last complete backup. Undefined before the first one. */
export function readLastBackup(dataDirectory: string) {
  const path = lastBackupFile(dataDirectory)
  return existsSync(path) ? lastBackupSchema.parse(JSON.parse(readFileSync(path, 'utf8'))) : undefined
}

/** What an interrupted backup has left: with this name, and with any name if old backups are removed. */
async function removePartial(partial: string, keep: number | undefined): Promise<void> {
  const parent = dirname(partial)
  const others = keep === undefined ? [] : await readdir(parent).catch(() => [])
  const paths = others.filter((name) => name.endsWith(PARTIAL_SUFFIX)).map((name) => join(parent, name))
  for (const path of [partial, ...paths]) await rm(path, { recursive: true, force: true })
}

/** A backup leaves the space that sales and an import need, if it is on their disk. */
async function checkFreeBytes({ dataDirectory, folder, freeBytes = readFreeBytes }: NewBackupOptions): Promise<void> {
  let needed = FREE_BYTES_MIN.import
  for (const folderOf of [responsesFolder, ...Object.values(OTHERS)])
    needed += (await stat(join(folderOf(dataDirectory), DATA_FILE)).catch(() => ({ size: 0 }))).size
  if (freeBytes(dirname(folder)) < needed)
    throw new DiskSpaceError(`${folder}: a backup may need ${Math.ceil(needed / 2 ** 20)} MiB, which are not free`)
}

/** Folders that are no complete backups stay. */
async function removeOld(parent: string, keep: number): Promise<void> {
  const folders = (await readdir(parent, { withFileTypes: true })).filter((entry) => entry.isDirectory())
  const found: { path: string; createdAt: string }[] = []
  for (const path of folders.map(({ name }) => join(parent, name))) {
    const manifest = await readManifest(path).catch(() => undefined)
    if (manifest) found.push({ path, createdAt: manifest.created_at })
  }
  const old = found.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1)).slice(keep)
  for (const { path } of old) await rm(path, { recursive: true })
}

async function writeBackup(options: NewBackupOptions): Promise<RecordCounts> {
  const { dataDirectory, keysDirectory, folder, now, hasLog = true } = options
  await makeNewDirectory(folder)
  await mkdir(join(folder, KEYS), { mode: PRIVATE_DIRECTORY_MODE })
  if (hasLog) await copyEnvironment('responses', { from: responsesFolder(dataDirectory), to: responsesFolder(folder) })
  const copied: string[] = []
  for (const [kind, folderOf] of Object.entries(OTHERS) as [EnvironmentKind, typeof catalogFolder][]) {
    if (!(await fileNames(folderOf(dataDirectory))).includes(DATA_FILE)) continue
    await copyEnvironment(kind, { from: folderOf(dataDirectory), to: folderOf(folder) })
    copied.push(pathOf(folderOf))
  }
  for (const name of await fileNames(keysDirectory))
    await copyDurably(join(keysDirectory, name), join(folder, KEYS, name))
  const counts = hasLog ? await countRecords(responsesFolder(folder)) : { records: 0, damaged: 0 }
  const paths = [
    ...(hasLog ? [LOG_PATH] : []),
    ...copied,
    ...(await fileNames(join(folder, KEYS))).map((name) => `${KEYS}/${name}`),
  ]
  const files: Record<string, string> = {}
  for (const path of paths) files[path] = await sha256Of(join(folder, path))
  const manifest: z.infer<typeof manifestSchema> = { version: 1, created_at: now().toISOString(), ...counts, files }
  await writeFileAtomically(join(folder, MANIFEST_FILE), `${JSON.stringify(manifest, null, 2)}\n`)
  return counts
}

/**
 * Puts the log and the keys of a backup into a data directory that has none, and the catalogue and the journal if it
 * has none. The log gets its name last, so an interrupted restore can be repeated after its keys are removed.
 *
 * @returns the numbers of restored records and the time of the backup
 * @throws StoreError when the backup is not complete, or when the target has a log or keys
 */
export async function restore({ dataDirectory, keysDirectory, folder, hasLog = true }: BackupOptions) {
  await refuseSpecialFiles([
    folder,
    responsesFolder(folder),
    ...Object.values(OTHERS).map((folderOf) => folderOf(folder)),
    ...[MANIFEST_FILE, KEYS].map((name) => join(folder, name)),
  ])
  const manifest = await readManifest(folder)
  if (LOG_PATH in manifest.files !== hasLog)
    throw new StoreError(`${folder}: ${hasLog ? 'has no response log' : 'has a response log, but RESPONSE_LOG is set'}`)
  const target = responsesFolder(dataDirectory)
  await refuseSpecialFiles([target, keysDirectory, ...Object.keys(manifest.files).map((path) => join(folder, path))])
  for (const path of [...(hasLog ? [target] : []), keysDirectory]) {
    if ((await fileNames(path)).length > 0) throw new StoreError(`${path}: exists; move it away before a restore`)
  }
  for (const [path, digest] of Object.entries(manifest.files)) {
    const found = await sha256Of(join(folder, path)).catch(() => undefined)
    if (found !== digest) throw new StoreError(`${join(folder, path)}: is missing or damaged`)
  }
  const restoring = `${target}.restoring`
  await mkdir(keysDirectory, { recursive: true, mode: PRIVATE_DIRECTORY_MODE })
  if (hasLog) {
    await copyIntoNew(join(folder, LOG_PATH), restoring)
    await checkEnvironment('responses', restoring)
  }
  const counts = hasLog ? await countRecords(restoring) : { records: 0, damaged: 0 }
  for (const path of Object.keys(manifest.files).filter((each) => dirname(each) === KEYS))
    await copyDurably(join(folder, path), join(keysDirectory, basename(path)))
  for (const [kind, folderOf] of Object.entries(OTHERS) as [EnvironmentKind, typeof catalogFolder][]) {
    const other = folderOf(dataDirectory)
    if (!(pathOf(folderOf) in manifest.files) || (await fileNames(other)).length > 0) continue
    await copyIntoNew(join(folder, pathOf(folderOf)), `${other}.restoring`)
    await checkEnvironment(kind, `${other}.restoring`)
    await renameDurably(`${other}.restoring`, other)
  }
  if (hasLog) await renameDurably(restoring, target)
  return { ...counts, createdAt: manifest.created_at }
}

/** Copies the file of an environment into a new folder. One of an interrupted restore is replaced. */
async function copyIntoNew(file: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: PRIVATE_DIRECTORY_MODE })
  await copyDurably(file, join(folder, DATA_FILE))
}

/** The target does not exist or is an empty folder. */
async function renameDurably(from: string, target: string): Promise<void> {
  await rmdir(target).catch(() => undefined)
  await rename(from, target)
  await syncDirectory(dirname(target))
}

/**
 * Links in a folder of another person could name any file of this machine, whose content would become a key or the log.
 * A pipe without a writer would hold the restore.
 */
async function refuseSpecialFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const stats = await lstat(path).catch(() => undefined)
    if (stats?.isSymbolicLink()) throw new StoreError(`${path}: is a link; a restore follows none`)
    if (stats && !stats.isFile() && !stats.isDirectory()) throw new StoreError(`${path}: is not a regular file`)
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
  await syncDirectory(to)
}

interface RecordCounts {
  records: number
  /** Records that do not match their checksum. The service refuses their payments, and the other records work. */
  damaged: number
}

async function countRecords(folder: string): Promise<RecordCounts> {
  const environment = openEnvironment({ folder, kind: 'responses', readOnly: true })
  try {
    const counts = { records: 0, damaged: 0 }
    for (const { key, value } of recordsIn(environment)) {
      const record = undefinedIfCorrupt(() => decodeRecord(value))
      if (record?.identity === key) counts.records += 1
      else counts.damaged += 1
    }
    return counts
  } catch (cause) {
    throw new StoreError(`${folder}: the response log cannot be read`, { cause })
  } finally {
    await environment.close()
    await rm(join(folder, 'lock.mdb'), { force: true })
  }
}

async function readManifest(folder: string): Promise<z.infer<typeof manifestSchema>> {
  try {
    return manifestSchema.parse(JSON.parse(await readFile(join(folder, MANIFEST_FILE), 'utf8')))
  } catch (cause) {
    throw new StoreError(`${folder}: is not a complete backup`, { cause })
  }
}

async function makeNewDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: PRIVATE_DIRECTORY_MODE })
  } catch (cause) {
    throw new StoreError(`${path}: must be a new folder in an existing one`, { cause })
  }
}

/** The files of a folder, without subfolders. Empty if the folder does not exist. */
async function fileNames(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries.flatMap((entry) => (entry.isFile() ? [entry.name] : []))
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return []
    throw cause
  }
}

async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_EXCL)
  await syncFile(to)
  await syncDirectory(dirname(to))
}

async function syncFile(path: string): Promise<void> {
  await using file = await open(path, 'r+')
  await file.chmod(PRIVATE_FILE_MODE)
  await file.sync()
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}
