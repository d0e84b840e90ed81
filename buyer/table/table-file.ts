/** Tables in files. */
import { mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { writeFileAtomically } from '../../store/files/atomic-file.ts'
import { readUpTo } from '../../store/files/bounded-read.ts'
import { parseTable, TABLE_BYTES_MAX, type ReadOptions, type Table } from './read-table.ts'
import { TableError } from './table-error.ts'
import { encodeTable, type Rows, type WriteOptions } from './write-table.ts'

/** @throws an error that names the file, and the lines of a fault */
export async function readTable(path: string, options: Omit<ReadOptions, 'name'> = {}): Promise<Table> {
  await using file = await open(path)
  const bytes = await readUpTo(file, TABLE_BYTES_MAX)
  if (!bytes) throw new TableError(`${path} is larger than ${TABLE_BYTES_MAX / 1024 ** 2} MiB`)
  return parseTable(bytes, { ...options, name: path })
}

/** Creates the folder. The file is created when all rows are encoded. It replaces a symbolic link, not its target. */
export async function writeTable(path: string, rows: Rows, options: Omit<WriteOptions, 'name'>): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFileAtomically(path, await encodeTable(rows, { ...options, name: path }))
}
