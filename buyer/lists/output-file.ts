/**
 * The output of a list: a file that only this list replaces, or stdout. The folder of the purchases keeps the digests
 * of the file, so one that a person has changed, or that is something else, is never overwritten.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import * as z from 'zod'
import type { CommandContext } from '../../agent/command-line/context.ts'
import { ifMissing } from '../../base/error-code.ts'
import { parseJson } from '../../base/read-body.ts'
import { sha256Hex } from '../../base/canonical.ts'
import { folderStorage } from '../library/folder-storage.ts'
import { replaceFile } from '../table/table-file.ts'
import { STREAM } from '../table/table-name.ts'
import type { Rows } from '../table/cell.ts'
import { encodeTable, type WriteOptions } from '../table/write-table.ts'

export interface OutputOptions {
  out: string
  /** The list. */
  file: string
  /** The folder of the purchases. */
  folder: string
}

const recordSchema = z.object({ list: z.string(), sha256: z.array(z.string()).max(2) })

/** Paths from the output on, so that a folder with all of them can be moved. */
const fromOutput = ({ out }: OutputOptions, path: string) =>
  path === STREAM ? path : relative(dirname(resolve(out)), resolve(path)).replaceAll('\\', '/')

const recordName = (options: OutputOptions) => `output-${sha256Hex(fromOutput(options, options.out)).slice(0, 16)}.json`

async function readRecord(options: OutputOptions): Promise<z.infer<typeof recordSchema> | undefined> {
  const text = await folderStorage(options.folder).read(recordName(options))
  return recordSchema.safeParse(parseJson(text ?? '')).data
}

/**
 * Why the file must not be replaced, and what to do. Undefined if there is no file, or if it is unchanged since this
 * list wrote it.
 */
export async function foreignOutput(options: OutputOptions): Promise<string | undefined> {
  const { out, file, folder } = options
  if (out === STREAM) return undefined
  const found = await fileDigest(out)
  if (found === undefined) return undefined
  const record = await readRecord(options)
  if (record?.list !== fromOutput(options, file))
    return `${out} is not an output of ${file}. Name another --out, or add --force to replace it`
  // The folder of another output has no purchases, so the list would be bought again.
  if (!record.sha256.includes(found))
    return `${out} was changed since it was written. To keep it, name another --out and add --purchases ${folder}; to replace it, add --force. Nothing is paid twice`
  return undefined
}

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Undefined without the file. */
async function fileDigest(path: string): Promise<string | undefined> {
  const bytes = await readFile(path).catch(ifMissing(undefined))
  return bytes && digestOf(bytes)
}

/**
 * Writes all rows at once. A process that dies leaves the former file or this one, and knows both.
 * @throws an error if the file has changed while the rows were made
 */
export async function writeOutput(
  { writeBytes }: CommandContext,
  options: OutputOptions,
  rows: Rows,
  table: Omit<WriteOptions, 'name'>,
): Promise<void> {
  const { out, file, folder } = options
  const before = out === STREAM ? undefined : await fileDigest(out)
  const bytes = await encodeTable(rows, { ...table, name: out })
  if (out === STREAM) return writeBytes(bytes)
  const [former, digest] = [await fileDigest(out), digestOf(bytes)]
  if (former !== before)
    throw new Error(
      `${out} has changed during the run, and was not replaced. Move it, and run the same command again, which pays nothing twice`,
    )
  const record = { list: fromOutput(options, file), sha256: former === undefined ? [digest] : [former, digest] }
  await folderStorage(folder).replace(recordName(options), `${JSON.stringify(record)}\n`)
  await replaceFile(out, bytes)
}
