/** Opens an LMDB environment of ours, and refuses one that something else, or a newer version, has written. */
import { randomUUID } from 'node:crypto'
import { closeSync, existsSync, fstatSync, fsyncSync, mkdirSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { open, type RootDatabase, type RootDatabaseOptions } from 'lmdb'
import { LAYOUT_KEY, LAYOUT_VERSION, OLDEST_LAYOUT, type EnvironmentKind } from './layout.ts'

/** A folder of the store that cannot be used. The message is one line for the operator. */
export class StoreError extends Error {
  override name = 'StoreError'
}

/** What is in the folder is damaged, or not ours. */
export class UnsoundError extends StoreError {}

interface OpenOptions {
  folder: string
  kind: EnvironmentKind
  readOnly?: boolean
  /** False where a loss of power may take the whole environment, as long as nobody opens it afterwards. */
  isDurable?: boolean
}

/**
 * Settings in full, because durability hangs on them. Without `overlappingSync` a value is visible only once it is
 * durable, and two writing processes lose nothing to a kill.
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
 * Of a new environment; one that is there keeps its own. A lookup's record has a page of 4 KiB to itself, in half the space
 * and with a quarter less time for each step than where two are to share one of 8.
 */
const PAGE_BYTES: Record<EnvironmentKind, number> = { catalog: 8192, snapshot: 8192, responses: 4096, limits: 8192 }

const DATA_FILE = 'data.mdb'
/** What LMDB writes when it makes an environment with two databases, and some. */
const FIRST_BYTES = 128 * 1024
/** In the first page, after its header: LMDB's magic number and the version of its format (mdb.c, `MDB_meta`). */
const LMDB_MAGIC_AT = 24
const LMDB_MAGIC = Buffer.from('dec0efbe02000000', 'hex')
/** In the first two pages, of which the one with the higher transaction counts: size of a page, last page, transaction. */
const PAGE_SIZE_AT = 48
const LAST_PAGE_AT = 144
const TRANSACTION_AT = 152
const META_BYTES = 160
/**
 * A sound file ends early where its last pages are free and were never written: those of one of our small transactions.
 * More missing bytes than that have held something.
 */
const BYTES_SHORT_MAX = 512n * 1024n

export function openEnvironment(options: OpenOptions): RootDatabase<unknown, string> {
  const { folder, kind, readOnly = false, isDurable = true } = options
  const environment = openFolder(folder, { kind, readOnly, isDurable })
  try {
    checkLayout(environment, { folder, kind, readOnly })
    return environment
  } catch (cause) {
    environment.close().catch(() => undefined)
    throw cause instanceof StoreError ? cause : new StoreError(`${folder}: cannot be read or written`, { cause })
  }
}

function openFolder(
  folder: string,
  { kind, readOnly, isDurable }: Required<Pick<OpenOptions, 'kind' | 'readOnly' | 'isDurable'>>,
): RootDatabase<unknown, string> {
  try {
    if (!readOnly) {
      mkdirSync(folder, { recursive: true })
      checkSpace(folder)
    }
    checkFile(join(folder, DATA_FILE), readOnly)
    if (kind === 'responses' || kind === 'limits') checkLength(join(folder, DATA_FILE))
    return open<unknown, string>({
      ...DURABLE,
      pageSize: PAGE_BYTES[kind],
      noSync: !isDurable,
      path: folder,
      readOnly,
      noSubdir: false,
      maxDbs: 8,
    })
  } catch (cause) {
    const Kind = cause instanceof UnsoundError ? UnsoundError : StoreError
    throw new Kind(`${folder}: cannot be opened as an LMDB environment (${reason(cause)})`, { cause })
  }
}

/** LMDB ends the process with a fault where it has no room for its first pages. */
function checkSpace(folder: string): void {
  const path = join(folder, `space-${randomUUID()}`)
  const file = openSync(path, 'wx')
  try {
    const bytes = Buffer.alloc(FIRST_BYTES)
    if (writeSync(file, bytes) < bytes.length) throw new Error('the disk is full')
    fsyncSync(file)
  } finally {
    closeSync(file)
    rmSync(path)
  }
}

/** LMDB itself creates what it should only read, and ends the process with a fault on a file that isn't its own. */
function checkFile(path: string, readOnly: boolean): void {
  if (!readOnly && !existsSync(path)) return
  const head = Buffer.alloc(LMDB_MAGIC_AT + LMDB_MAGIC.length)
  const file = openSync(path, 'r')
  try {
    const length = readSync(file, head)
    // An empty file is what a kill before the first write leaves behind.
    const isNew = length === 0 && !readOnly
    if (!isNew && !head.subarray(LMDB_MAGIC_AT).equals(LMDB_MAGIC))
      throw new UnsoundError('the file is not one of LMDB')
  } finally {
    closeSync(file)
  }
}

/** A page beyond the end of its file, cut off by a copy or a repair, would end the process with a fault when it is read. */
function checkLength(path: string): void {
  if (!existsSync(path)) return
  const file = openSync(path, 'r')
  try {
    const first = lengthIn(file, 0)
    const pages = first ? [first, lengthIn(file, Number(first.pageSize)) ?? first] : []
    const newest = pages.reduce((one, other) => (other.transaction > one.transaction ? other : one), pages[0] ?? NONE)
    const needed = (newest.lastPage + 1n) * newest.pageSize - BYTES_SHORT_MAX
    // After the pages were read: another process may write, and its file is longer before it says so.
    if (BigInt(fstatSync(file).size) < needed) throw new UnsoundError('the file is cut short: restore it from a copy')
  } finally {
    closeSync(file)
  }
}

const NONE = { pageSize: 0n, lastPage: 0n, transaction: 0n }

function lengthIn(file: number, at: number): typeof NONE | undefined {
  const meta = Buffer.alloc(META_BYTES)
  const isThere = readSync(file, meta, { position: at }) === META_BYTES
  if (!isThere || !meta.subarray(LMDB_MAGIC_AT, LMDB_MAGIC_AT + LMDB_MAGIC.length).equals(LMDB_MAGIC)) return undefined
  return {
    pageSize: BigInt(meta.readUInt32LE(PAGE_SIZE_AT)),
    lastPage: meta.readBigUInt64LE(LAST_PAGE_AT),
    transaction: meta.readBigUInt64LE(TRANSACTION_AT),
  }
}

function checkLayout(
  environment: RootDatabase<unknown, string>,
  { folder, kind, readOnly }: Required<Pick<OpenOptions, 'folder' | 'kind' | 'readOnly'>>,
): void {
  const expected = { kind, version: LAYOUT_VERSION[kind] }
  const found = environment.get(LAYOUT_KEY)
  if (found === undefined && !readOnly && environment.getKeysCount({ limit: 1 }) === 0) {
    environment.putSync(LAYOUT_KEY, expected)
    return
  }
  if (!isLayout(found) || found.kind !== kind)
    throw new UnsoundError(`${folder}: is not a ${kind} folder of this service`)
  if (found.version > expected.version || found.version < OLDEST_LAYOUT[kind]) {
    throw new StoreError(`${folder}: has layout version ${found.version}, this program reads ${expected.version}`)
  }
  if (readOnly && found.version < expected.version) {
    throw new StoreError(`${folder}: has layout version ${found.version}, until a service of this version is started`)
  }
}

/** The version that it has now: {@link OLDEST_LAYOUT} or newer. */
export function layoutOf(environment: RootDatabase<unknown, string>): number {
  const layout = environment.get(LAYOUT_KEY)
  return isLayout(layout) ? layout.version : 0
}

function isLayout(value: unknown): value is { kind: string; version: number } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'kind' in value &&
    typeof value.kind === 'string' &&
    'version' in value &&
    typeof value.version === 'number'
  )
}

/**
 * Waits until a write is on disk. On a full disk LMDB rejects two promises more that nobody holds: the one behind
 * `commitError` is handled here; the other, of its own batch of one event turn, can't be reached, and a process that
 * writes must outlive it by handling `unhandledRejection`.
 */
export async function durable<T>(write: Promise<T>): Promise<T> {
  try {
    return await write
  } catch (cause) {
    if (cause instanceof Error && 'commitError' in cause) void Promise.resolve(cause.commitError).catch(() => undefined)
    throw new StoreError('The store could not be written', { cause })
  }
}

/** The same for a write that is made at once. */
export function durableSync<T>(write: () => T): T {
  try {
    return write()
  } catch (cause) {
    throw new StoreError('The store could not be written', { cause })
  }
}

function reason(cause: unknown): string {
  return cause instanceof Error && cause.message ? cause.message : 'unknown reason'
}
