/** The folder of a backup: its manifest and its files. */
import { existsSync } from 'node:fs'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { sha256Schema } from '../../base/digest.ts'
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

const manifestSchema = z.strictObject({
  version: z.literal(1),
  /** ISO 8601, in UTC. */
  created_at: z.string(),
  records: z.int().nonnegative(),
  damaged: z.int().nonnegative(),
  /** SHA-256 in hexadecimal digits, by path. */
  files: z.record(z.string().regex(/^((?:responses|catalog|history)\/data\.mdb|keys\/[^/\\]+)$/), sha256Schema),
})

export type Manifest = z.infer<typeof manifestSchema>

/** @throws StoreError if the folder has no manifest */
export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, MANIFEST_FILE)
  await refuseSpecialFiles([folder, path])
  try {
    return manifestSchema.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (cause) {
    throw new StoreError(`${folder}: is not a complete backup`, { cause })
  }
}

/** The folders of the complete backups in a folder, newest first. */
export async function findBackups(parent: string): Promise<string[]> {
  const backups: { folder: string; created_at: string }[] = []
  for (const entry of await readdir(parent, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name.endsWith(PARTIAL_SUFFIX)) continue
    const folder = join(parent, entry.name)
    const manifest = await readManifest(folder).catch(() => undefined)
    if (manifest) backups.push({ folder, created_at: manifest.created_at })
  }
  return backups.toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1)).map(({ folder }) => folder)
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
