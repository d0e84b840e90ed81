/** The folder of a backup: its manifest, its files, and the backups beside it that it builds on. */
import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { StoreError } from '../files/environment.ts'

/** What a backup and a restore need. */
export interface Directories {
  dataDirectory: string
  keysDirectory: string
  /** The folder of the backup. */
  folder: string
  /** False if the response log is in a database, which has a backup of its own. */
  hasLog?: boolean
}

/** The folder of a backup that is not complete ends with it. */
export const PARTIAL_SUFFIX = '.partial'
/** A folder without it is not a complete backup. */
export const MANIFEST_FILE = 'backup.json'
export const KEYS = 'keys'
/** The file of an environment, below a backup or a data directory. */
export const pathOf = (kind: 'responses' | 'catalog' | 'history') => `${kind}/data.mdb`
export const LOG_PATH = pathOf('responses')
/** Environments that are copied if they exist. */
export const OTHERS = ['catalog', 'history'] as const

const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/)

const logStateSchema = z.object({
  /** The random id of the log since it was created or restored. */
  epoch: z.string(),
  /** The number and the time of its newest change. 0 and null without one. */
  change: z.int().nonnegative(),
  changed_at: z.string().nullable(),
})

export type LogState = z.infer<typeof logStateSchema>

const manifestSchema = z.strictObject({
  /** Version 1 has neither a log state nor a parent. */
  version: z.literal([1, 2]),
  /** ISO 8601, in UTC. */
  created_at: z.string(),
  records: z.int().nonnegative(),
  damaged: z.int().nonnegative(),
  /** SHA-256 in hexadecimal digits, by path. An ancestor has the catalogue or the journal if it has not changed. */
  files: z.record(z.string().regex(/^((?:responses|catalog|history)\/data\.mdb|keys\/[^/\\]+)$/), sha256Schema),
  /** The state of the response log. Absent without one, or if no process of this version has written to it. */
  log: logStateSchema.optional(),
  /** The SHA-256 of the manifest of the backup that an incremental one builds on. */
  parent: sha256Schema.optional(),
})

type Manifest = z.infer<typeof manifestSchema>

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
    const text = await readFile(path, 'utf8')
    return { folder, manifest: manifestSchema.parse(JSON.parse(text)), sha256: hash('sha256', text) }
  } catch (cause) {
    throw new StoreError(`${folder}: is not a complete backup`, { cause })
  }
}

/** The complete backups in a folder, newest first. */
export async function findBackups(parent: string): Promise<Backup[]> {
  const backups: Backup[] = []
  for (const entry of await readdir(parent, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name.endsWith(PARTIAL_SUFFIX)) continue
    const backup = await readBackup(join(parent, entry.name)).catch(() => undefined)
    if (backup) backups.push(backup)
  }
  return backups.toSorted((a, b) => (a.manifest.created_at < b.manifest.created_at ? 1 : -1))
}

/**
 * The backup and those beside it that it builds on, the full one first. They are found by their digests, so a folder
 * can have another name.
 * @throws StoreError if one is missing or has changed
 */
export async function readChain(backup: Backup): Promise<[Backup, ...Backup[]]> {
  const chain: [Backup, ...Backup[]] = [backup]
  const beside = backup.manifest.parent === undefined ? [] : await findBackups(dirname(backup.folder))
  for (let [{ folder, manifest }] = chain; manifest.parent !== undefined; [{ folder, manifest }] = chain) {
    const parent = beside.find(({ sha256 }) => sha256 === manifest.parent)
    if (!parent) throw new StoreError(`${folder}: the backup that it builds on is not beside it or has changed`)
    chain.unshift(parent)
  }
  return chain
}

/** The path of a file of the last backup of a chain. */
export function findFile(chain: readonly Backup[], path: string): string {
  const paths = chain.map(({ folder }) => join(folder, path))
  const isInherited = OTHERS.some((kind) => pathOf(kind) === path)
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

/** The files of a folder, without subfolders. Empty if the folder does not exist. */
export async function fileNames(folder: string): Promise<string[]> {
  const entries = existsSync(folder) ? await readdir(folder, { withFileTypes: true }) : []
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}
