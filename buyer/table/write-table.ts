/** Tables as the bytes of a CSV, a TSV, an .xlsx file or JSON. Runs in browsers too. */
import { toText, type Cell, type Rows } from './cell.ts'
import type { Format } from './read-table.ts'
import { formOf } from './table-name.ts'
import { encodeSheet } from './write-sheet.ts'

export interface WriteOptions {
  /** Its end is the form of the table (table-name.ts). */
  name: string
  /** Default: as Excel writes it. */
  format?: Format
  /**
   * The index of the first added cell. Default: 0. In a CSV, added texts other than words are quoted, and none begins a
   * formula. All cells of a sheet are added ones, because a text of a sheet is never a formula.
   */
  addedFrom?: number
  /** From 1. It stays in view in a sheet, and has its filter. */
  headerRow?: number | undefined
}

const DEFAULT_FORMAT: Format = { kind: 'csv', separator: ',', lineEnd: '\r\n', hasByteOrderMark: true }

/** Encodes each row when it is read, so that the cells of a long list are never all in memory. */
export async function encodeTable(rows: Rows, options: WriteOptions): Promise<Uint8Array<ArrayBuffer>> {
  const { name, addedFrom = 0, headerRow } = options
  const form = formOf(name)
  const format = { ...(options.format ?? DEFAULT_FORMAT), ...(form === 'tsv' && { separator: '\t' }) }
  if (form === 'xlsx') return encodeSheet(format.kind === 'csv' ? withNumbers(rows, addedFrom) : rows, headerRow)
  const texts = form === 'json' ? toJson(rows) : toCsv(rows, format, format.kind === 'xlsx' ? 0 : addedFrom)
  const encoder = new TextEncoder()
  const parts: Uint8Array<ArrayBuffer>[] = []
  for await (const text of texts) parts.push(encoder.encode(text))
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}

async function* toCsv(rows: Rows, { separator, lineEnd, hasByteOrderMark }: Format, addedFrom: number) {
  const quote = (text: string) => `"${text.replaceAll('"', '""')}"`
  const isPlain = (text: string) => !text.includes(separator) && !/["\r\n]/.test(text)
  const toField = (cell: Cell, index: number) => {
    const text = toText(cell)
    if (typeof cell === 'number') return text
    if (index < addedFrom) return isPlain(text) ? text : quote(text)
    return /^\w*$/.test(text) ? text : quote(toSafeCell(text))
  }
  if (hasByteOrderMark) yield '\uFEFF'
  for await (const row of rows) yield row.map(toField).join(separator) + lineEnd
}

/** One object for each row, with the names of the first row, which are different. */
async function* toJson(rows: Rows) {
  let names: string[] | undefined
  yield '['
  let start = '\n'
  for await (const row of rows) {
    if (!names) {
      names = row.map(toText)
      continue
    }
    const members = names.map((name, index) => {
      const cell = row[index] ?? null
      return [name, cell instanceof Date ? toText(cell) : cell]
    })
    yield start + JSON.stringify(Object.fromEntries(members))
    start = ',\n'
  }
  yield '\n]\n'
}

/** A number without leading zeros, and with no more digits than a sheet shows of it. */
const NUMBER = /^-?(?:0|[1-9]\d{0,10})(?:\.\d{1,4})?$/

/** The numbers that a CSV has. */
async function* withNumbers(rows: Rows, addedFrom: number) {
  const toCell = (cell: Cell, index: number) =>
    index < addedFrom && typeof cell === 'string' && NUMBER.test(cell) ? Number(cell) : cell
  for await (const row of rows) yield row.map(toCell)
}

/** The characters with which a spreadsheet begins a formula, also after white space, and in their full-width forms. */
const FORMULA = /^[\s\0]*[=+\-@＝＋－＠]|^[\t\r]/

/** The same within a text, for a reader that takes another separator than the file has. */
const INNER_FORMULA = /([,;\t|\r\n][\s\0"]*)(?=[=+\-@＝＋－＠])/g

/** A text of another party as a cell that no spreadsheet runs, whichever separator it takes. */
export function toSafeCell(text: string): string {
  const [start = ''] = /^[\s\0]*/.exec(text) ?? []
  const safe = start + text.slice(start.length).replace(INNER_FORMULA, "$1'")
  return FORMULA.test(safe) ? `'${safe}` : safe
}
