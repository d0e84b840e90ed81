/** Tables in files. */
import { access, constants, lstat, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { writeFileAtomically } from '../../store/files/atomic-file.ts'
import { readUpTo } from '../../base/read-body.ts'
import { readFileUpTo } from '../../store/files/bounded-read.ts'
import { parseTable, TABLE_BYTES_MAX, tooLarge, type ReadOptions, type Table } from './read-table.ts'
import { TableError } from './table-error.ts'
import type { Rows } from './cell.ts'
import { encodeTable, type WriteOptions } from './write-table.ts'

/** All of stdin. */
export async function readStream(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const bytes = await readUpTo(stream, TABLE_BYTES_MAX)
  if (!bytes) throw tooLarge('stdin')
  return bytes
}

/**
 * @param path a file, or the bytes of stdin
 * @throws an error that names the file, and the lines of a fault
 */
export async function readTable(path: string | Uint8Array, options: Omit<ReadOptions, 'name'> = {}): Promise<Table> {
  if (typeof path !== 'string') return parseTable(path, { ...options, name: 'stdin' })
  await using file = await open(path)
  const bytes = await readFileUpTo(file, TABLE_BYTES_MAX)
  if (!bytes) throw tooLarge(path)
  return parseTable(bytes, { ...options, name: path })
}

/** The file is created when all rows are encoded. */
export async function writeTable(path: string, rows: Rows, options: Omit<WriteOptions, 'name'>): Promise<void> {
  await replaceFile(path, await encodeTable(rows, { ...options, name: path }))
}

/** Creates or replaces a regular file. */
export async function replaceFile(path: string, bytes: Uint8Array): Promise<void> {
  const fault = await faultOfTarget(path)
  if (fault !== undefined) throw new TableError(`${path} ${fault}`)
  await writeFileAtomically(path, bytes)
}

/** Why no file can be written there: only a regular file is renamed over, never a device, a pipe or a link. */
export async function faultOfTarget(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined)
  if (found && !found.isFile()) return `is a ${found.isDirectory() ? 'folder' : 'device or a link'}`
  const folder = await stat(dirname(path)).catch(() => undefined)
  if (!folder?.isDirectory()) return 'is in a folder that does not exist'
  const isWritable = await access(dirname(path), constants.W_OK).then(
    () => true,
    () => false,
  )
  return isWritable ? undefined : 'is in a folder that cannot be written'
}
