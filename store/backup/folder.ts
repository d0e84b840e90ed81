/** The folder of a backup: its manifest, its files, and the other folders that it builds on. */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { constants, copyFile, lstat, open, readdir, readFile, rename, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import * as z from 'zod'
import { errorCode } from '../base/error-code.ts'
import { syncDirectory } from '../files/atomic-file.ts'
import { StoreError } from '../files/environment.ts'
import { catalogFolder, historyFolder, responsesFolder } from '../files/layout.ts'

/** The folder of a backup that is not complete ends with it. */
export const PARTIAL_SUFFIX = '.partial'
/** A folder without it is not a complete backup. */
export const MANIFEST_FILE = 'backup.json'
export const KEYS = 'keys'
export const DATA_FILE = 'data.mdb'
/** The response log in a backup. */
export const LOG_PATH = join(responsesFolder(''), DATA_FILE)
/** Environments that are copied if they exist, by kind. */
export const OTHERS = { catalog: catalogFolder, history: historyFolder } as const
export const pathOf = (folderOf: (directory: string) => string) => join(folderOf(''), DATA_FILE)
const PRIVATE_FILE_MODE = 0o600

const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/)

const logStateSchema = z.strictObject({
  /** The random id of the log since it was created or restored. */
  epoch: z.string(),
  /** The number and the time of its newest change (store/log/changes.ts). 0 and null without one. */
  change: z.int().nonnegative(),
  changed_at: z.string().nullable(),
  /** The number of final records. */
  finals: z.int().nonnegative(),
  /** The last key in the list of final records. Empty without one. */
  newest_final: z.string(),
})

export type LogState = z.infer<typeof logStateSchema>

const manifestSchema = z.strictObject({
  /** Version 1 has neither a log state nor a parent. */
  version: z.literal([1, 2]),
  /** ISO 8601, in UTC. */
  created_at: z.string(),
  records: z.int().nonnegative(),
  damaged: z.int().nonnegative(),
  /**
   * SHA-256 in hexadecimal digits, by path below the folder. A catalogue or a journal that has not changed is in the
   * folder of an ancestor.
   */
  files: z.record(z.string().regex(/^((?:responses|catalog|history)\/data\.mdb|keys\/[^/\\]+)$/), sha256Schema),
  /** The state of the response log. Absent without one, or if no process of this version has written to it. */
  log: logStateSchema.optional(),
  /** What an incremental backup builds on: a folder beside it, and the digest of its manifest. */
  parent: z.strictObject({ folder: z.string().regex(/^(?!\.\.?$)[^/\\]+$/), sha256: sha256Schema }).optional(),
})

export type Manifest = z.infer<typeof manifestSchema>

/** A complete backup. */
export interface Backup {
  folder: string
  manifest: Manifest
  /** The digest of the manifest. */
  sha256: string
}

/** @throws StoreError if the folder has no manifest */
export async function readBackup(folder: string): Promise<Backup> {
  const path = join(folder, MANIFEST_FILE)
  await refuseSpecialFiles([folder, path])
  try {
    const manifest = manifestSchema.parse(JSON.parse(await readFile(path, 'utf8')))
    return { folder, manifest, sha256: await sha256Of(path) }
  } catch (cause) {
    throw new StoreError(`${folder}: is not a complete backup`, { cause })
  }
}

/**
 * The backup and its ancestors, the full one first.
 * @throws StoreError if one is missing or has changed
 */
export async function readChain(backup: Backup): Promise<[Backup, ...Backup[]]> {
  const { folder, manifest } = backup
  if (!manifest.parent) return [backup]
  const parent = join(dirname(folder), manifest.parent.folder)
  const found = await readBackup(parent).catch(() => undefined)
  if (found?.sha256 !== manifest.parent.sha256)
    throw new StoreError(`${parent}: is missing or has changed; ${folder} builds on it`)
  return [...(await readChain(found)), backup]
}

/** The complete backups in a folder, newest first. */
export async function findBackups(parent: string): Promise<Backup[]> {
  const entries = await readdir(parent, { withFileTypes: true }).catch(() => [])
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  const folders = names.filter((name) => !name.endsWith(PARTIAL_SUFFIX)).map((name) => join(parent, name))
  const found = await Promise.all(folders.map((folder) => readBackup(folder).catch(() => undefined)))
  const backups = found.filter((backup) => backup !== undefined)
  return backups.toSorted((a, b) => (a.manifest.created_at < b.manifest.created_at ? 1 : -1))
}

/** The path of a file of the last backup of a chain. */
export function findFile(chain: readonly Backup[], path: string): string {
  const paths = chain.map(({ folder }) => join(folder, path))
  const isInherited = Object.values(OTHERS).some((folderOf) => pathOf(folderOf) === path)
  return (isInherited && paths.findLast((each) => existsSync(each))) || String(paths.at(-1))
}

/**
 * Links in a folder of another person could name any file of this machine, whose content would become a key or the log.
 * A pipe without a writer would hold the restore.
 */
export async function refuseSpecialFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const stats = await lstat(path).catch(() => undefined)
    if (stats?.isSymbolicLink()) throw new StoreError(`${path}: is a link; a restore follows none`)
    if (stats && !stats.isFile() && !stats.isDirectory()) throw new StoreError(`${path}: is not a regular file`)
  }
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

/** The target does not exist or is an empty folder. */
export async function renameDurably(from: string, target: string): Promise<void> {
  await rmdir(target).catch(() => undefined)
  await rename(from, target)
  await syncDirectory(dirname(target))
}

export async function copyDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_EXCL)
  await syncFile(to)
}

export async function syncFile(path: string): Promise<void> {
  {
    await using file = await open(path, 'r+')
    await file.chmod(PRIVATE_FILE_MODE)
    await file.sync()
  }
  await syncDirectory(dirname(path))
}

/** The files of a folder, without subfolders. Empty if the folder does not exist. */
export async function fileNames(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries.flatMap((entry) => (entry.isFile() ? [entry.name] : []))
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return []
    throw cause
  }
}
