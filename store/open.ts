/** Opens an LMDB environment of ours, and refuses one that something else, or a newer version, has written. */
import { mkdirSync } from 'node:fs'
import { open, type RootDatabase, type RootDatabaseOptions } from 'lmdb'
import { LAYOUT_KEY, LAYOUT_VERSION, type EnvironmentKind } from './layout.ts'

/** A folder of the store that cannot be used. The message is one line for the operator. */
export class StoreError extends Error {
  override name = 'StoreError'
}

interface OpenOptions {
  folder: string
  kind: EnvironmentKind
  readOnly?: boolean
}

/**
 * Settings in full, because durability hangs on them. Without `overlappingSync` a value is visible only once it is
 * durable, and two writing processes lose nothing to a kill; 8 KiB pages hold the response log in half the space.
 */
const DURABLE = {
  overlappingSync: false,
  noSync: false,
  noMetaSync: false,
  useWritemap: false,
  separateFlushed: false,
  compression: false,
  encoding: 'json',
  pageSize: 8192,
} as const satisfies RootDatabaseOptions

export function openEnvironment({ folder, kind, readOnly = false }: OpenOptions): RootDatabase<unknown, string> {
  const environment = openFolder(folder, readOnly)
  try {
    checkLayout(environment, { folder, kind, readOnly })
    return environment
  } catch (cause) {
    void environment.close()
    throw cause instanceof StoreError ? cause : new StoreError(`${folder}: cannot be read or written`, { cause })
  }
}

function openFolder(folder: string, readOnly: boolean): RootDatabase<unknown, string> {
  try {
    if (!readOnly) mkdirSync(folder, { recursive: true })
    return open<unknown, string>({ ...DURABLE, path: folder, readOnly, noSubdir: false, maxDbs: 8 })
  } catch (cause) {
    throw new StoreError(`${folder}: cannot be opened as an LMDB environment (${reason(cause)})`, { cause })
  }
}

function checkLayout(
  environment: RootDatabase<unknown, string>,
  { folder, kind, readOnly }: Required<OpenOptions>,
): void {
  const expected = { kind, version: LAYOUT_VERSION[kind] }
  const found = environment.get(LAYOUT_KEY)
  if (found === undefined && !readOnly && environment.getKeysCount({ limit: 1 }) === 0) {
    environment.putSync(LAYOUT_KEY, expected)
    return
  }
  if (!isLayout(found) || found.kind !== kind)
    throw new StoreError(`${folder}: is not a ${kind} folder of this service`)
  if (found.version !== expected.version) {
    throw new StoreError(`${folder}: has layout version ${found.version}, this program reads ${expected.version}`)
  }
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
 * Waits until a write is on disk. On a full disk LMDB rejects a second promise that nobody holds; it is handled here, so
 * that the failure reaches the caller once and the process lives.
 */
export async function durable<T>(write: Promise<T>): Promise<T> {
  try {
    return await write
  } catch (cause) {
    if (cause instanceof Error && 'commitError' in cause) void Promise.resolve(cause.commitError).catch(() => undefined)
    throw new StoreError('The store could not be written', { cause })
  }
}

function reason(cause: unknown): string {
  return cause instanceof Error && cause.message ? cause.message : 'unknown reason'
}
