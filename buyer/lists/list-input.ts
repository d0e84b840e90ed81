/** What the commands of a list work on: its file, read before anything is paid, the service and the key. */
import { resolve as resolvePath } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { Command } from 'commander'
import { toSentence } from '../../base/grammar.ts'
import { readTarget, refuse, type Client } from '../target.ts'
import { parseSeparator, parseWholeNumber, parsing } from '../arguments.ts'
import type { Table } from '../table/read-table.ts'
import { decoderOf, ENCODINGS } from '../table/decode-text.ts'
import { TableError } from '../table/table-error.ts'
import { STREAM } from '../table/table-name.ts'
import { readPrivateKey } from '../library/private-key.ts'
import { namesOf, NO_COLUMN, type ColumnNames } from './columns.ts'
import { proposeHeader } from './header.ts'

/** The options of both commands of lists. */
export interface ListOptions {
  header?: boolean
  headerRow?: number
  separator?: string
  encoding?: string
  sheet?: string
  hiddenRows?: boolean
  maxTotal?: number
  yes?: boolean
  dryRun?: boolean
}

export const addTableOptions = (command: Command) =>
  command
    .option('--header-row <n>', 'the row of the header, from 1; by default it is found', parseWholeNumber)
    .option('--no-header', 'the first row is data; name columns by their numbers')
    .option(
      '--separator <text>',
      'the separator of the fields, "tab" for a tabulator; by default it is found',
      parseSeparator,
    )
    .option(
      '--encoding <name>',
      `that of a CSV, such as ${ENCODINGS.join(', ')}; by default it is found`,
      parsing((name) => decoderOf(name) && name),
    )
    .option('--sheet <name>', 'the sheet of an .xlsx file; by default the first visible one with a table')
    .option('--hidden-rows', 'also buy rows that are hidden in the sheet, such as by a filter')

/** Asks a person, or ends the command as with wrong arguments, if encoding or sheet are in doubt. */
async function readListFile(
  command: Command,
  { context }: Client,
  { file, options: { separator, encoding, sheet, hiddenRows } }: Pick<Given, 'file' | 'options'>,
): Promise<Table> {
  const { readStream, readTable } = await import('../table/table-file.ts')
  const source = file === STREAM ? await readStream(context.stdin) : file
  const options = { separator, encoding, sheet, hasHiddenRows: hiddenRows }
  return readTable(source, options).catch(async (cause: unknown) => {
    if (!(cause instanceof TableError) || cause.argument === undefined) throw cause
    if (cause.argument !== 'encoding') return refuse(command, cause.message)
    if (await context.confirm(`${cause.message}. Read it so?`))
      return readTable(source, { ...options, encoding: 'windows-1252' })
    return refuse(command, `${cause.message}. Name the encoding with --encoding`)
  })
}

/**
 * The row of the header, from 1, or 0 without one. A column that is named by its header is in the first row. Asks a
 * person, or ends the command as with wrong arguments, if the header is in doubt.
 */
async function findHeaderRow(
  command: Command,
  { context }: Client,
  { table: { rows }, options: { header, headerRow }, columns }: Pick<Given, 'options' | 'columns'> & { table: Table },
): Promise<number> {
  if (header === false) return 0
  if (headerRow !== undefined) return headerRow
  const named = Object.values(columns).flatMap((names) => namesOf(names).map(String))
  if (named.some((name) => name !== NO_COLUMN && !/^[0-9]+$/.test(name))) return 1
  const { row, doubt } = proposeHeader(rows)
  if (doubt === undefined) return row
  const isHeader = await context.confirm(`${toSentence(doubt)} Is it one?`)
  if (isHeader !== undefined) return isHeader ? row : 0
  return refuse(command, `${toSentence(doubt)} Add --header-row ${row} or --no-header`)
}

/**
 * Options of V8 for a long list. By default Node.js 24 keeps twice the memory, most of it garbage (`bench perf`, row
 * "client reconcile").
 */
const HEAP_OPTIONS = ['--semi-space-growth-factor=1', '--heap-growing-percent=20']

/** Ends the command if two of its files are the same, or if one cannot be written. */
async function requireFiles(command: Command, { file, written }: Pick<Given, 'file' | 'written'>): Promise<void> {
  const { faultOfTarget } = await import('../table/table-file.ts')
  const taken = new Map([[resolvePath(file), file]])
  for (const [flag, path] of Object.entries(written)) {
    if (path === undefined || path === STREAM) continue
    const other = taken.get(resolvePath(path))
    if (other !== undefined) refuse(command, `option '${flag}' names ${other}, which is another file of this command`)
    const fault = await faultOfTarget(path)
    if (fault !== undefined) refuse(command, `option '${flag}' names ${path}, which ${fault}`)
    taken.set(resolvePath(path), path)
  }
}

export type ListInput = Awaited<ReturnType<typeof readListInput>>

interface Given {
  file: string
  options: ListOptions
  columns: ColumnNames<string>
  /** The files that the command writes, by their options. */
  written: Record<string, string | undefined>
}

export async function readListInput(command: Command, client: Client, given: Given) {
  const { file, options } = given
  await requireFiles(command, given)
  const { a2a, newPayment, keyFile, ...service } = await readTarget(command, client, 'url', 'keyFile')
  if (service.mode === 'mainnet' && options.maxTotal === undefined && !options.dryRun)
    refuse(command, "option '--max-total' is required on mainnet")
  if (a2a) refuse(command, "option '--a2a' cannot be used with a list")
  if (newPayment) refuse(command, "option '--new-payment' cannot be used with a list")
  for (const each of HEAP_OPTIONS) setFlagsFromString(each)
  const table = await readListFile(command, client, given)
  return {
    ...service,
    key: await readPrivateKey(keyFile),
    file,
    table,
    /** From 1, or 0 without a header. */
    headerRow: await findHeaderRow(command, client, { ...given, table }),
    /** Pays without a question. */
    isConfirmed: options.yes === true,
    /** Only says the price. */
    isDryRun: options.dryRun === true,
  }
}
