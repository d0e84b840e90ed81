/** Opens LMDB environments. Refuses one that is damaged, has another kind or has another layout version. */
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { open, type RootDatabase, type RootDatabaseOptions } from 'lmdb'
import { CorruptRecordError } from './checksum.ts'
import { LAYOUT_KEY, LAYOUT_VERSION, type EnvironmentKind, type Layout } from './layout.ts'
import { PRIVATE_DIRECTORY_MODE } from './private-files.ts'

/** A part of the store cannot be used. The message is one line for the operator. */
export class StoreError extends Error {
  override name = 'StoreError'
}

/** The file of an open environment is no longer at its path. Nothing was written. */
export class LostFileError extends StoreError {
  override name = 'LostFileError'
}

interface OpenOptions {
  folder: string
  kind: EnvironmentKind
  readOnly?: boolean
}

/**
 * All settings that durability depends on. Without `overlappingSync` a value is visible only once it is durable, and
 * two writing processes lose nothing when one is killed.
 */
const DURABLE = {
  overlappingSync: false,
  noMetaSync: false,
  useWritemap: false,
  separateFlushed: false,
  compression: false,
  encoding: 'json',
} as const satisfies RootDatabaseOptions

/**
 * The page size of a new environment; an existing one keeps its own. A lookup record fills a page of 4 KiB;
 * larger pages of the response log cost space and time per write.
 */
const pageBytes = (kind: EnvironmentKind) => (kind === 'responses' || kind === 'lock' ? 4096 : 8192)

export const dataFile = (folder: string) => join(folder, 'data.mdb')
/** LMDB writes fewer bytes when it creates an environment with two databases. */
const FIRST_BYTES = 128 * 1024
/** The offset in the first page of LMDB's magic number and format version (mdb.c, `MDB_meta`). */
const LMDB_MAGIC_AT = 24
const LMDB_MAGIC = Buffer.from('dec0efbe02000000', 'hex')
/** Offsets in each of the two meta pages. The page with the higher transaction number is valid. */
const PAGE_SIZE_AT = 48
const DAMAGED_HEAD = 'its first pages are damaged: restore it from a backup'
/** Of the list of free pages and of the databases. */
const ROOTS_AT = [88, 136]
const NO_PAGE = 2n ** 64n - 1n
const LAST_PAGE_AT = 144
const TRANSACTION_AT = 152
const META_BYTES = 160
/**
 * Between two checks of an open file. One takes 28 us, and each of a hundred lookups makes one: without the interval a
 * batch costs a third more (`bench perf`, row "100 lookups in one batch, CPU").
 */
const HEAD_INTERVAL_MS = 10
/**
 * An intact file can be shorter than its page count states, because its last pages may be free and never written.
 * Transactions of the service are small. If more bytes than this are missing, pages in use are lost.
 */
const MISSING_BYTES_MAX = 512n * 1024n

export function openEnvironment(options: OpenOptions): RootDatabase<unknown, string> {
  const { folder } = options
  const environment = openFolder(options)
  try {
    checkLayout(environment, options)
    opened.set(folder, { place: placeOf(folder), bytes: statSync(dataFile(folder)).size, checkedAt: -Infinity })
    return environment
  } catch (cause) {
    environment.close().catch(() => undefined)
    throw toStoreError(`${folder}: cannot be read or written`, cause)
  }
}

/** The file of each folder when it was last opened, and its largest size since. */
const opened = new Map<string, { place: string | undefined; bytes: number; checkedAt: number }>()

/** Equal for two reads of one file, and different for a file that replaces it while it is open. */
export function placeOf(folder: string): string | undefined {
  const stats = statSync(dataFile(folder), { throwIfNoEntry: false })
  return stats && `${stats.dev} ${stats.ino}`
}

/**
 * LMDB ends the process if it reads an open file that was cut, or whose meta pages are damaged. Called before a read of
 * what can be restored or imported again while the service runs.
 * @throws StoreError
 */
export function checkHead(folder: string): void {
  const file = opened.get(folder)
  const now = performance.now()
  if (!file || now - file.checkedAt < HEAD_INTERVAL_MS) return
  // A file that was removed or replaced is still open (`checkPlace`).
  if (placeOf(folder) === file.place) file.bytes = readSize(folder, file.bytes)
  file.checkedAt = now
}

function readSize(folder: string, before: number): number {
  try {
    return withFile(dataFile(folder), 'r', (file) => {
      const { size } = fstatSync(file)
      // LMDB never makes a file smaller.
      if (size < before) throw new Error('it was cut')
      checkRoots(file)
      return size
    })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'unknown reason'
    throw new StoreError(`${folder}: its open file is damaged (${reason})`, { cause })
  }
}

/** @throws LostFileError if the file of a folder that this process has open was removed, moved or replaced */
export function checkPlace(folder: string): void {
  const file = opened.get(folder)
  if (file && placeOf(folder) !== file.place)
    throw new LostFileError(`${folder}: its open file was removed, moved or replaced; stop the service and restore it`)
}

function openFolder({ folder, kind, readOnly = false }: OpenOptions): RootDatabase<unknown, string> {
  try {
    if (!readOnly) {
      mkdirSync(folder, { recursive: true, mode: PRIVATE_DIRECTORY_MODE })
      checkSpace(folder)
    }
    const path = dataFile(folder)
    if (readOnly || existsSync(path)) checkFile(path, readOnly)
    return open<unknown, string>({
      ...DURABLE,
      pageSize: pageBytes(kind),
      path: folder,
      readOnly,
      noSubdir: false,
      maxDbs: 8,
    })
  } catch (cause) {
    const reason = cause instanceof Error && cause.message ? cause.message : 'unknown reason'
    throw new StoreError(`${folder}: cannot be opened as an LMDB environment (${reason})`, { cause })
  }
}

const READER_LINE = /^\s*(\d+) [0-9a-f]+ /gm

/**
 * The process ids in LMDB's table of readers. A process in another container has entered the id that it has there.
 * Ended processes are removed first, except those with the id of this process. Call it before this process opens the
 * environment.
 */
export async function readerProcessIds(folder: string): Promise<number[]> {
  if (!existsSync(dataFile(folder))) return []
  const environment = openFolder({ folder, kind: 'catalog' })
  try {
    return readerIdsOf(environment)
  } finally {
    await environment.close()
  }
}

export function readerIdsOf(environment: RootDatabase<unknown, string>): number[] {
  environment.readerCheck()
  return [...environment.readerList().matchAll(READER_LINE)].map(([, id]) => Number(id))
}

/** LMDB crashes the process if the disk has no space for its first pages. */
function checkSpace(folder: string): void {
  const path = join(folder, `space-${randomUUID()}`)
  try {
    withFile(path, 'wx', (file) => {
      if (writeSync(file, Buffer.alloc(FIRST_BYTES)) < FIRST_BYTES) throw new Error('the disk is full')
      fsyncSync(file)
    })
  } finally {
    rmSync(path, { force: true })
  }
}

/**
 * LMDB creates a missing file even when it opens read-only, and crashes the process on a file of another format. A
 * truncated file, for example an incomplete copy, crashes the process when a missing page is read.
 */
function checkFile(path: string, readOnly: boolean): void {
  const missing = withFile(path, 'r', (file) => {
    // A kill before the first write leaves an empty file.
    if (!readOnly && fstatSync(file).size === 0) return 0n
    const newest = readNewestMeta(file)
    // Read the size after the meta pages: another process extends the file before it writes a meta page.
    const bytes = (newest.lastPage + 1n) * newest.pageSize - BigInt(fstatSync(file).size)
    if (bytes > MISSING_BYTES_MAX) throw new StoreError('the file is truncated: restore it from a backup')
    checkRoots(file)
    return bytes
  })
  // LMDB then reads a page of zeros, which is an error, and not beyond the end, which ends the process. To append is
  // right whatever another process writes.
  if (missing > 0n) withFile(path, 'a', (file) => writeSync(file, Buffer.alloc(Number(missing))))
}

type Meta = NonNullable<ReturnType<typeof readMeta>>

/** @throws StoreError unless both meta pages are there */
function readNewestMeta(file: number): Meta {
  const first = readMeta(file, 0)
  if (!first) throw new StoreError('the file is not an LMDB file')
  const second = readMeta(file, first.pageSize)
  if (second?.pageSize !== first.pageSize) throw new StoreError(DAMAGED_HEAD)
  return second.transaction > first.transaction ? second : first
}

/** @throws StoreError unless the root pages are those that the newest meta page names */
function checkRoots(file: number): void {
  const { roots, pageSize, transaction } = readNewestMeta(file)
  if (roots.every((root) => root === NO_PAGE || readNumber(file, root * pageSize) === root)) return
  // Transactions of another process can have used these pages for something else meanwhile.
  if (readNewestMeta(file).transaction === transaction) throw new StoreError(DAMAGED_HEAD)
  checkRoots(file)
}

/** The number that a page begins with. */
function readNumber(file: number, position: bigint): bigint {
  const page = Buffer.alloc(8)
  readSync(file, page, { position })
  return page.readBigUInt64LE()
}

/** Undefined if there is no meta page at this position. */
function readMeta(file: number, position: bigint | number) {
  const meta = Buffer.alloc(META_BYTES)
  const length = readSync(file, meta, { position })
  const magic = meta.subarray(LMDB_MAGIC_AT, LMDB_MAGIC_AT + LMDB_MAGIC.length)
  if (length < META_BYTES || !magic.equals(LMDB_MAGIC)) return undefined
  return {
    pageSize: BigInt(meta.readUInt32LE(PAGE_SIZE_AT)),
    lastPage: meta.readBigUInt64LE(LAST_PAGE_AT),
    roots: ROOTS_AT.map((at) => meta.readBigUInt64LE(at)),
    transaction: meta.readBigUInt64LE(TRANSACTION_AT),
  }
}

function withFile<T>(path: string, flags: string, use: (file: number) => T): T {
  const file = openSync(path, flags)
  try {
    return use(file)
  } finally {
    closeSync(file)
  }
}

function checkLayout(
  environment: RootDatabase<unknown, string>,
  { folder, kind, readOnly = false }: OpenOptions,
): void {
  const version = LAYOUT_VERSION[kind]
  const layout = environment.get(LAYOUT_KEY) as Partial<Layout> | null | undefined
  if (layout === undefined && !readOnly && environment.getKeysCount({ limit: 1 }) === 0) {
    environment.putSync(LAYOUT_KEY, { kind, version })
    return
  }
  if (layout?.kind !== kind || typeof layout.version !== 'number')
    throw new StoreError(`${folder}: is not a ${kind} folder of this service`)
  if (layout.version !== version)
    throw new StoreError(`${folder}: has layout version ${layout.version}, this program reads ${version}`)
  if (readOnly) return
  // If a transaction frees more than 250 pages while the list of free pages is empty, as it is after a compact copy,
  // LMDB ends the process (lmdb 3.5.6, `mdb_page_alloc` in mdb.c). A small transaction fills the list.
  const { free } = environment.getStats() as { free: { entryCount: number } }
  if (free.entryCount === 0) environment.putSync(LAYOUT_KEY, layout)
}

/** The options of a range that begins beyond a key, in the direction of the range. Without a key, at its first one. */
export function startAfter(key: string | undefined): { start?: string; exclusiveStart?: boolean } {
  return key === undefined ? {} : { start: key, exclusiveStart: true }
}

/**
 * Waits until a write is committed. On a full disk LMDB also rejects two promises that no code holds. The one behind
 * `commitError` is handled here. The other belongs to LMDB's batch and cannot be reached, so a process that writes must
 * handle `unhandledRejection`.
 */
export async function awaitWrite<T>(write: Promise<T>): Promise<T> {
  try {
    return await write
  } catch (cause) {
    if (cause instanceof Error && 'commitError' in cause) void Promise.resolve(cause.commitError).catch(() => undefined)
    throw cause instanceof CorruptRecordError ? cause : toStoreError('The store could not be written', cause)
  }
}

/** Turns every error of a synchronous read or write into a {@link StoreError}. */
export function orStoreError<T>(message: string, use: () => T): T {
  try {
    return use()
  } catch (cause) {
    throw toStoreError(message, cause)
  }
}

export function toStoreError(message: string, cause: unknown): StoreError {
  return cause instanceof StoreError ? cause : new StoreError(message, { cause })
}
