/**
 * The table of a list from its bytes: a CSV or TSV, whose separator, line end and encoding are found in it, or
 * a sheet of an .xlsx file. The first bytes decide, not the name. Runs in browsers too.
 */
import { parse, type Options } from 'csv-parse/sync'
import { isBlank, type Cell } from './cell.ts'
import { decodeText } from './decode-text.ts'
import { readSheet } from './read-sheet.ts'
import { TableError } from './table-error.ts'

/** The table is in memory. This is a million rows, more than anyone pays for. */
export const TABLE_BYTES_MAX = 64 * 1024 * 1024
/** A longer row means that a quote is not closed. */
const ROW_CHARACTERS_MAX = 1024 * 1024
/** Enough to show the separator. */
const SAMPLE_ROWS = 20
const SEPARATORS = [',', ';', '\t', '|']

/** How a table was written, so that it is written in the same way. */
export interface Format {
  kind: 'csv' | 'xlsx'
  separator: string
  lineEnd: '\n' | '\r\n'
  /** A CSV is written in UTF-8. With a byte order mark if the input was not UTF-8. */
  hasByteOrderMark: boolean
}

export interface Table {
  rows: Cell[][]
  /** The line of each row of a CSV. Undefined for a sheet, whose rows count from 1. */
  lines: readonly number[] | undefined
  /** The indexes of rows that are hidden in a sheet. */
  hidden: ReadonlySet<number>
  /** The name of the sheet, and those of all visible ones. */
  sheet?: string
  sheets: readonly string[]
  format: Format
}

export interface ReadOptions {
  /** The file, for errors. */
  name: string
  /** By default it is found. */
  separator?: string | undefined
  /** One of `ENCODINGS`, or another name that `TextDecoder` knows. By default it is found. */
  encoding?: string | undefined
  /** The name of a sheet. By default the first visible one with a table. */
  sheet?: string | undefined
  /** Reads hidden rows of a sheet as others. */
  hasHiddenRows?: boolean | undefined
}

const startsWith = (bytes: Uint8Array, start: readonly number[]) => start.every((byte, index) => bytes[index] === byte)
const ARCHIVE = [0x50, 0x4b, 0x03, 0x04]
/** A container of older formats, and of sheets with a password. */
const OLE_CONTAINER = [0xd0, 0xcf, 0x11, 0xe0]

/** HTML and XML, which programs export with the name .xls, RTF and PDF. */
const DOCUMENT = /^\s*(?:<(?:[!?]|html|head|body|meta|table)|\{\\rtf|%PDF-)/i

export const tooLarge = (name: string) => new TableError(`${name} is larger than ${TABLE_BYTES_MAX / 1024 ** 2} MiB`)

/** @throws TableError with one line about the fault */
export async function parseTable(bytes: Uint8Array, options: ReadOptions): Promise<Table> {
  const { name } = options
  if (bytes.length > TABLE_BYTES_MAX) throw tooLarge(name)
  if (startsWith(bytes, OLE_CONTAINER))
    throw new TableError(`${name} is an .xls file or has a password. Save it as .xlsx without one`)
  if (!startsWith(bytes, ARCHIVE)) {
    if (options.sheet === undefined) return readCsv(bytes, options)
    throw new TableError(`${name} is a CSV, which has no sheets`, { argument: 'sheet' })
  }
  const format = { kind: 'xlsx', separator: ',', lineEnd: '\n', hasByteOrderMark: true } as const
  const read = await readSheet(bytes, name, options.sheet)
  return { ...read, hidden: options.hasHiddenRows ? new Set() : read.hidden, lines: undefined, format }
}

function readCsv(bytes: Uint8Array, { name, separator: given, encoding }: ReadOptions): Table {
  const { text: decoded, hasByteOrderMark } = decodeText(bytes, { name, encoding })
  // DOS ends a file with it.
  const text = decoded.endsWith('\u001A') ? decoded.slice(0, -1) : decoded
  if (DOCUMENT.test(text)) throw new TableError(`${name} is a document, and no list. Save it as .xlsx or CSV`)
  // Excel reads the separator from a first line `sep=;`.
  const [hint = '', named] = /^sep=(.)\r*\n/i.exec(text) ?? []
  const content = withDoubledQuotes(text.slice(hint.length))
  const separator = given ?? named ?? findSeparator(content)
  const lines: number[] = []
  const first = hint === '' ? 0 : 1
  try {
    const rows = parse(content, {
      ...parserOptions(separator),
      on_record: (row: string[], { lines: line }) => {
        lines.push(line + first)
        return row
      },
    })
    const lineEnd = text.includes('\r\n') ? '\r\n' : '\n'
    return { rows, lines, hidden: new Set(), sheets: [], format: { kind: 'csv', separator, lineEnd, hasByteOrderMark } }
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && String(cause.code).startsWith('CSV_'))) throw cause
    throw new TableError(`${name} is not valid CSV after line ${lines.at(-1) ?? 0}`, { cause })
  }
}

const parserOptions = (separator: string | string[]): Options => ({
  delimiter: separator,
  // A text that is copied in the wrong mode has CR CR LF.
  record_delimiter: ['\r\r\n', '\r\n', '\n', '\r'],
  relax_column_count: true,
  // A quote inside of a field without quotes, such as 5" pipe, is a character like others.
  relax_quotes: true,
  max_record_size: ROW_CHARACTERS_MAX,
})

const IN_QUOTES = /\\(["\\])/g

/**
 * MySQL and others write `\"` for a quote. The text is written so if it is only then a CSV: a value such as `"C:\\"` of
 * another text ends with a backslash.
 */
function withDoubledQuotes(text: string): string {
  if (!text.includes('\\"')) return text
  const isStrict = (content: string) => {
    try {
      parse(content, { ...parserOptions(SEPARATORS), relax_quotes: false, on_record: () => null })
      return true
    } catch {
      return false
    }
  }
  const doubled = text.replaceAll(IN_QUOTES, (_, escaped: string) => (escaped === '"' ? '""' : escaped))
  return !isStrict(text) && isStrict(doubled) ? doubled : text
}

/** The separator with most fields in the first row, if the other rows fit, or else that of the rows below a title. */
function findSeparator(text: string): string {
  const found = SEPARATORS.map((separator) => ({ separator, rows: splitRows(text, separator) }))
  const [best] = found
    .map(({ separator, rows }) => {
      const fields = rows[0]?.length ?? 0
      const isPossible = isTable(rows.map((row) => row.findLastIndex((cell, at) => at < fields || !isBlank(cell)) + 1))
      return { separator, fields, isPossible }
    })
    .toSorted((one, other) => Number(other.isPossible) - Number(one.isPossible) || other.fields - one.fields)
  const below = found.find(({ rows }) => isBelowTitle(rows))
  return (best?.isPossible && best.fields > 1 ? best : (below ?? best))?.separator ?? ','
}

/**
 * A table: most rows have at most as many fields as the first row. Below a first row of several fields, at least half
 * of the rows have several too.
 * @param counts the number of fields of each row. Empty fields beyond the length of the first row do not count
 */
function isTable([fields = 0, ...others]: readonly number[]): boolean {
  const longer = others.filter((count) => count > fields).length
  const split = others.filter((count) => count > 1).length
  return fields === 1 ? longer === 0 : longer * 2 < Math.max(1, others.length) && split * 2 >= others.length
}

/** Whether rows without a separator stand above at least two with equally many fields, of which none is prose. */
function isBelowTitle(all: readonly string[][]): boolean {
  const rows = all.slice(all.findIndex(({ length }) => length > 1))
  const isSplit = (row: string[]) =>
    row.length === rows[0]?.length && !row.some((cell, at) => at > 0 && cell.startsWith(' '))
  return rows.length > 1 && rows.length < all.length && rows.every((row) => row.length > 1 && isSplit(row))
}

/** The first rows, without empty lines. */
function splitRows(text: string, separator: string): string[][] {
  try {
    return parse(text, { ...parserOptions(separator), to: SAMPLE_ROWS, skip_empty_lines: true })
  } catch {
    return []
  }
}
