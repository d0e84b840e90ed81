/**
 * Reads and writes the table of a list: a CSV, whose separator, line end and encoding are found in the file, or the
 * first sheet of an .xlsx file.
 */
import { isUtf8 } from 'node:buffer'
import { open } from 'node:fs/promises'
import { parse, type Options } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'
import { writeFileAtomically } from '../../store/files/atomic-file.ts'
import { readUpTo } from '../../store/files/bounded-read.ts'
import { toSafeCell } from './safe-cell.ts'

/** The table is in memory. This is a million rows, more than anyone pays for. */
const FILE_BYTES_MAX = 64 * 1024 * 1024
/** A longer row means that a quote is not closed. */
const ROW_CHARACTERS_MAX = 1024 * 1024
/** Enough for the rows that show the separator. */
const SAMPLE_CHARACTERS = 64 * 1024
const SAMPLE_ROWS = 20
const SEPARATORS = [',', ';', '\t', '|']
/** Lines with too many fields that an error names. */
const LINES_SHOWN = 5

/** A cell of a CSV is text. A cell of a sheet can have another type, and is null if empty. */
export type Cell = string | number | boolean | Date | null

interface Format {
  separator: string
  lineEnd: '\n' | '\r\n'
  hasByteOrderMark: boolean
}

export interface Table {
  /** All rows have as many cells as the first one. */
  rows: Cell[][]
  /** For writing the table as CSV, always in UTF-8. With a byte order mark if the input was not UTF-8. */
  format: Format
}

/** @throws an error that names the file, and the lines of a fault */
export async function readTable(path: string, separator?: string): Promise<Table> {
  await using file = await open(path)
  const bytes = await readUpTo(file, FILE_BYTES_MAX)
  if (!bytes) throw new Error(`${path} is larger than ${FILE_BYTES_MAX / 1024 ** 2} MiB`)
  const isArchive = bytes.subarray(0, 4).equals(Buffer.from('PK\u0003\u0004'))
  return isArchive ? readSheet(path, bytes) : readCsv(path, bytes, separator)
}

async function readSheet(path: string, bytes: Buffer): Promise<Table> {
  const library = await import('read-excel-file/node')
  const sheet = await library.readSheet(bytes, { trim: false }).catch((cause: unknown) => {
    throw new Error(`${path} is not an .xlsx file that can be read`, { cause })
  })
  const rows = sheet.map((row) => row.map((cell) => (cell instanceof Object && !(cell instanceof Date) ? null : cell)))
  return { rows: sameWidth(path, rows, []), format: { separator: ',', lineEnd: '\n', hasByteOrderMark: true } }
}

function readCsv(path: string, bytes: Buffer, given: string | undefined): Table {
  const { text, hasByteOrderMark } = decode(path, bytes)
  // Excel reads the separator from a first line `sep=;`.
  const [hint = '', named] = /^sep=(.)\r?\n/i.exec(text) ?? []
  const content = text.slice(hint.length)
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
    return { rows: sameWidth(path, rows, lines), format: { separator, lineEnd, hasByteOrderMark } }
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && String(cause.code).startsWith('CSV_'))) throw cause
    throw new Error(`${path} is not valid CSV after line ${lines.at(-1) ?? 0}`, { cause })
  }
}

/** The characters of the bytes 0x80 to 0x9F. Some versions of Node.js decode them as ISO-8859-1. */
const WINDOWS_1252 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'

function decode(path: string, bytes: Buffer): { text: string; hasByteOrderMark: boolean } {
  if (bytes.subarray(0, SAMPLE_CHARACTERS).includes(0) || bytes.subarray(0, 2).equals(Buffer.of(0xff, 0xfe)))
    throw new Error(`${path} is not text in UTF-8 or Windows-1252. Save it as CSV in UTF-8`)
  const hasMark = bytes.subarray(0, 3).equals(Buffer.of(0xef, 0xbb, 0xbf))
  if (isUtf8(bytes)) return { text: bytes.toString('utf8', hasMark ? 3 : 0), hasByteOrderMark: hasMark }
  const text = bytes
    .toString('latin1')
    .replace(/[\u0080-\u009f]/g, (character) => WINDOWS_1252.charAt(character.charCodeAt(0) - 0x80))
  return { text, hasByteOrderMark: true }
}

const parserOptions = (separator: string): Options => ({
  delimiter: separator,
  record_delimiter: ['\r\n', '\n', '\r'],
  relax_column_count: true,
  // A quote inside of a field without quotes, such as 5" pipe, is a character like others.
  relax_quotes: true,
  max_record_size: ROW_CHARACTERS_MAX,
})

/** The separator with which no row of the sample has more fields than the first one, which has most of them. */
function findSeparator(text: string): string {
  const cut = text.slice(0, SAMPLE_CHARACTERS)
  const isCut = cut.length < text.length
  const sample = isCut ? cut.slice(0, Math.max(cut.lastIndexOf('\n'), cut.lastIndexOf('\r')) + 1) : text
  const [best] = SEPARATORS.map((separator) => {
    const counts = countFields(sample, separator)
    const [fields = 0] = counts
    return { separator, fields, isPossible: counts.every((count) => count <= fields) }
  }).toSorted((one, other) => Number(other.isPossible) - Number(one.isPossible) || other.fields - one.fields)
  return best?.separator ?? ','
}

/** Empty lines do not count. */
function countFields(text: string, separator: string): number[] {
  try {
    const rows = parse(text, { ...parserOptions(separator), to: SAMPLE_ROWS, skip_empty_lines: true })
    return rows.map(({ length }) => length)
  } catch {
    return []
  }
}

/**
 * @param lines the line of each row. Empty for a sheet, whose rows count from 1
 * @throws an error that names the lines with more cells than the first row
 */
function sameWidth(path: string, rows: Cell[][], lines: readonly number[]): Cell[][] {
  const [{ length: width } = []] = rows
  const isTooLong = (row: Cell[]) => row.slice(width).some((cell) => toText(cell).trim() !== '')
  const faults = rows.flatMap((row, index) => (isTooLong(row) ? [lines[index] ?? index + 1] : []))
  if (faults.length > 0) {
    const shown = `${faults.slice(0, LINES_SHOWN).join(', ')}${faults.length > LINES_SHOWN ? ' ...' : ''}`
    throw new Error(`${path} has more than the ${width} fields of its first row in line ${shown}. Add --separator`)
  }
  return rows.map((row) => Array.from({ length: width }, (_, index) => row[index] ?? ''))
}

/** A cell as text: a date as YYYY-MM-DD, a number without the format of its sheet. */
export function toText(cell: Cell | undefined): string {
  return cell instanceof Date ? cell.toISOString().slice(0, 10) : String(cell ?? '')
}

/**
 * Writes a sheet if the path ends with `.xlsx`, and else a CSV. The file appears when `close` has resolved, and
 * replaces a link instead of its target. The lines of a CSV are kept as bytes, a fraction of their cells.
 * @param addedFrom the index of the first added cell. In a CSV, added texts other than words are quoted, and none
 * begins a formula
 */
export function openTable(path: string, format: Format, { addedFrom }: { addedFrom: number }) {
  const isSheet = /\.xlsx$/i.test(path)
  const rows: Cell[][] = []
  const lines: Buffer[] = [Buffer.from(format.hasByteOrderMark ? '\uFEFF' : '')]
  const options = {
    delimiter: format.separator,
    record_delimiter: format.lineEnd,
    // By default only the line end of the file is quoted.
    quoted_match: /[\r\n]/,
    cast: {
      string: (value: string, { index }: { index: number }) =>
        index < addedFrom ? value : { value: toSafeCell(value), quoted: !/^\w*$/.test(value) },
    },
  }
  return {
    add(row: Cell[]) {
      if (isSheet) rows.push(row)
      else lines.push(Buffer.from(stringify([row.map(toText)], options)))
    },
    async close() {
      await writeFileAtomically(path, isSheet ? await toSheet(rows) : Buffer.concat(lines))
    },
  }
}

export async function writeTable(path: string, { rows, format }: Table, from: { addedFrom: number }): Promise<void> {
  const table = openTable(path, format, from)
  for (const row of rows) table.add(row)
  await table.close()
}

/** A text of a sheet is never a formula. */
async function toSheet(rows: readonly Cell[][]): Promise<Uint8Array> {
  const { default: writeSheet } = await import('write-excel-file/node')
  const toCell = (value: Cell) => {
    if (value === null || value === '') return null
    return value instanceof Date ? { value, format: 'yyyy-mm-dd' } : { value }
  }
  return writeSheet(rows.map((row) => row.map(toCell))).toBuffer()
}
