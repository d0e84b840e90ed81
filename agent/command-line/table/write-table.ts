/** Tables as the bytes of a CSV, of an .xlsx file or of JSON, by the end of their name. Runs in browsers too. */
import { toSafeCell } from '../safe-cell.ts'
import { toText, type Cell } from './cell.ts'
import type { Format } from './read-table.ts'

export interface WriteOptions {
  /** Ends with `.xlsx` or `.json`; every other name is that of a CSV. */
  name: string
  format: Format
  /**
   * The index of the first added cell. In a CSV, added texts other than words are quoted, and none begins a formula.
   * All cells of a sheet are added ones, because a text of a sheet is never a formula.
   */
  addedFrom: number
}

/** The lines of a CSV or of JSON are kept as bytes, a fraction of their cells. */
export function createEncoder({ name, format, addedFrom }: WriteOptions) {
  const kind = /\.(xlsx|json)$/i.exec(name)?.[1]?.toLowerCase()
  if (kind === 'xlsx') return sheetEncoder()
  return kind === 'json' ? jsonEncoder() : csvEncoder(format, format.kind === 'xlsx' ? 0 : addedFrom)
}

export async function encodeTable(rows: readonly Cell[][], options: WriteOptions): Promise<Uint8Array> {
  const encoder = createEncoder(options)
  for (const row of rows) encoder.add(row)
  return encoder.finish()
}

function csvEncoder({ separator, lineEnd, hasByteOrderMark }: Format, addedFrom: number) {
  const quote = (text: string) => `"${text.replaceAll('"', '""')}"`
  const isPlain = (text: string) => !text.includes(separator) && !/["\r\n]/.test(text)
  const toField = (cell: Cell, index: number) => {
    const text = toText(cell)
    if (index < addedFrom) return isPlain(text) ? text : quote(text)
    return /^\w*$/.test(text) ? text : quote(toSafeCell(text))
  }
  const lines = byteLines(hasByteOrderMark ? '\uFEFF' : '')
  return {
    add: (row: readonly Cell[]) => lines.add(row.map(toField).join(separator) + lineEnd),
    finish: async () => lines.join(),
  }
}

/** One object for each row, with the names of the first row. */
function jsonEncoder() {
  const lines = byteLines('[')
  let names: string[] | undefined
  let between = '\n'
  return {
    add(row: readonly Cell[]) {
      if (!names) return void (names = row.map(toText))
      const members = names.map((name, index) => [
        name,
        row[index] instanceof Date ? toText(row[index]) : (row[index] ?? null),
      ])
      lines.add(between + JSON.stringify(Object.fromEntries(members)))
      between = ',\n'
    },
    async finish() {
      lines.add('\n]\n')
      return lines.join()
    },
  }
}

function byteLines(start: string) {
  const encoder = new TextEncoder()
  const lines = [encoder.encode(start)]
  return {
    add: (text: string) => void lines.push(encoder.encode(text)),
    join() {
      const all = new Uint8Array(lines.reduce((sum, { length }) => sum + length, 0))
      let at = 0
      for (const line of lines) {
        all.set(line, at)
        at += line.length
      }
      return all
    },
  }
}

/** A text of a sheet is never a formula. */
function sheetEncoder() {
  const rows: (object | null)[][] = []
  const toCell = (value: Cell) => {
    if (value === null || value === '') return null
    return value instanceof Date ? { value, format: 'yyyy-mm-dd' } : { value }
  }
  return {
    add: (row: readonly Cell[]) => void rows.push(row.map(toCell)),
    async finish() {
      const { default: writeSheet } = await import('write-excel-file/universal')
      return new Uint8Array(await (await writeSheet(rows as never).toBlob()).arrayBuffer())
    },
  }
}
