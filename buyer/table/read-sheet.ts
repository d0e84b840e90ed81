/** The rows of a sheet of an .xlsx file (ECMA-376, part 1, section 18.3). Runs in browsers too. */
import { proposeHeader } from '../lists/header.ts'
import { openArchive, type Part } from './archive.ts'
import { isBlank, type Cell } from './cell.ts'
import { fromSerial } from './number-formats.ts'
import { attributeOf, scanXml } from './scan-xml.ts'
import { TableError } from './table-error.ts'
import { isTrue, readWorkbook, type Workbook } from './workbook.ts'

/** Of the rectangle around all cells, which is in memory. */
const CELLS_MAX = 5_000_000
const COLUMNS_MAX = 16_384

interface SheetRows {
  rows: Cell[][]
  /** The indexes of rows that a filter or a person hides. */
  hidden: ReadonlySet<number>
}

export interface ReadSheet extends SheetRows {
  sheet: string
  /** The names of the visible sheets, or of all if all are hidden. */
  sheets: string[]
}

/** @param sheet the name of the sheet. By default the first visible one with a table */
export async function readSheet(bytes: Uint8Array, name: string, sheet?: string): Promise<ReadSheet> {
  try {
    const workbook = await readWorkbook(openArchive(bytes, name))
    const visible = workbook.sheets.filter(({ isHidden }) => !isHidden)
    const shown = visible.length > 0 ? visible : workbook.sheets
    const sheets = shown.map((each) => each.name)
    const strings = workbook.strings ? await readStrings(workbook.strings) : []
    const read = (part: Part) => readRows(part, { ...workbook, strings, name })
    if (sheet !== undefined) {
      const named = workbook.sheets.find((each) => toName(each.name) === toName(sheet))
      if (named) return { ...(await read(named.part)), sheet: named.name, sheets }
      throw new TableError(`${name} has no sheet ${sheet}. Its sheets are: ${sheets.join(' | ')}`, {
        argument: 'sheet',
      })
    }
    let first: ReadSheet | undefined
    for (const each of shown) {
      const found = { ...(await read(each.part)), sheet: each.name, sheets }
      if (!isCover(found.rows)) return found
      first ??= found
    }
    if (first) return first
    throw new Error('The workbook has no sheet with cells')
  } catch (cause) {
    if (cause instanceof TableError) throw cause
    throw new TableError(`${name} is not an .xlsx file that can be read`, { cause })
  }
}

const toName = (text: string) => text.normalize('NFC').trim().toLowerCase()

/** A sheet with few rows, such as a title, is none with the list, unless it has a header. */
const COVER_ROWS_MAX = 20

function isCover(rows: readonly Cell[][]): boolean {
  if (rows.filter((row) => !row.every(isBlank)).length > COVER_ROWS_MAX) return false
  const { row, doubt } = proposeHeader(rows)
  return row === 0 || doubt !== undefined || row >= rows.length
}

/** A shorter text is a copy already. */
const SLICE_CHARACTERS_MIN = 13
const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * A copy, because a text that is a slice keeps a large part of the sheet in memory (`bench perf`, row
 * "client reconcile").
 */
const copyText = (text: string): string =>
  text.length < SLICE_CHARACTERS_MIN ? text : decoder.decode(encoder.encode(text))

/** Characters that XML does not have are escaped as `_xHHHH_`. */
const unescape = (text: string): string =>
  text.includes('_x') || text.includes('_X')
    ? text.replaceAll(/_x([0-9a-f]{4})_/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    : text

/** Collects the text of an element `si` or `is`: one text or several runs, without phonetic text. */
function createTextReader() {
  let text = ''
  let isInText = false
  let isPhonetic = false
  return {
    open(name: string) {
      if (name === 'rPh') isPhonetic = true
      else if (name === 't') isInText = !isPhonetic
    },
    close(name: string) {
      if (name === 'rPh') isPhonetic = false
      else if (name === 't') isInText = false
    },
    text(piece: string) {
      if (isInText) text += piece
    },
    take(): string {
      if (text === '') return text
      const taken = copyText(unescape(text))
      text = ''
      return taken
    },
  }
}

async function readStrings(part: Part): Promise<string[]> {
  const strings: string[] = []
  const reader = createTextReader()
  await scanXml(part.read(), {
    ...reader,
    close(name) {
      reader.close(name)
      if (name === 'si') strings.push(reader.take())
    },
  })
  return strings
}

interface Cells extends Omit<Workbook, 'strings'> {
  strings: readonly string[]
  /** The file, for errors. */
  name: string
}

async function readRows(part: Part, context: Cells): Promise<SheetRows> {
  const rows: Cell[][] = []
  const hidden = new Set<number>()
  const inline = createTextReader()
  let [row, column, width, read] = [-1, -1, 0, 0]
  let current: Cell[] = []
  let cell = { type: '', style: '', value: '' }
  let isInValue = false
  const open = (name: string, attributes: string) => {
    if (name === 'row') {
      row = Number(attributeOf(attributes, 'r') ?? row + 2) - 1
      column = -1
      current = []
      if (isTrue(attributeOf(attributes, 'hidden'))) hidden.add(row)
    } else if (name === 'c') {
      const letters = LETTERS.exec(attributeOf(attributes, 'r') ?? '')
      column = letters ? toIndex(letters[0]) : column + 1
      cell = { type: attributeOf(attributes, 't') ?? '', style: attributeOf(attributes, 's') ?? '', value: '' }
    } else if (name === 'v') isInValue = true
    else inline.open(name)
  }
  const close = (name: string) => {
    if (name === 'v') isInValue = false
    else if (name === 'c') {
      const value = toCell(cell, inline.take(), context)
      if (value === undefined)
        throw new TableError(`${context.name} has no text for the cell ${toLetters(column)}${row + 1} of ${part.path}`)
      read += 1
      if (value !== null && value !== '') {
        // A hole would make the row slow.
        while (current.length < column) current.push(null)
        current[column] = value
      }
    } else if (name === 'row') {
      width = Math.max(width, current.length)
      // Negated, so that a number that is none is refused too.
      if (!(row >= 0 && (row + 1) * width <= CELLS_MAX && read <= 4 * CELLS_MAX && width <= COLUMNS_MAX))
        throw new TableError(`${context.name} has a sheet with more than ${CELLS_MAX} cells`)
      // A copy has no room for further cells.
      if (current.length > 0) rows[row] = current.slice()
    } else inline.close(name)
  }
  const text = (piece: string) => {
    if (isInValue) cell.value += piece
    else inline.text(piece)
  }
  await scanXml(part.read(), { open, close, text })
  return { rows: Array.from(rows, (each) => each ?? []), hidden }
}

const LETTERS = /^[a-z]+/i

/** Undefined for a shared string that is not there. */
function toCell(
  { type, style, value }: { type: string; style: string; value: string },
  inline: string,
  { strings, kinds, is1904 }: Cells,
): Cell | undefined {
  if (type === 's') return /^\s*\d+\s*$/.test(value) ? strings[Number(value)] : undefined
  if (type === 'inlineStr' || (value === '' && inline !== '')) return inline
  if (type === 'str' || type === 'e') return copyText(unescape(value))
  const text = value.trim()
  if (text === '') return null
  if (type === 'b') return isTrue(text.toLowerCase())
  if (type === 'd') return toDate(text)
  const number = Number(text)
  if (Number.isNaN(number)) return copyText(value)
  const kind = kinds[Number(style)]
  return kind === undefined ? number : fromSerial(number, kind, is1904)
}

/** A date in ISO 8601, which has no zone. */
function toDate(text: string): Cell {
  const date = new Date(/T[^Z+]*$/.test(text) ? `${text}Z` : text)
  return Number.isNaN(date.getTime()) ? copyText(text) : date
}

function toIndex(letters: string): number {
  let index = 0
  for (const letter of letters.toUpperCase()) index = index * 26 + letter.charCodeAt(0) - 64
  return index - 1
}

const toLetters = (index: number): string =>
  (index >= 26 ? toLetters(Math.floor(index / 26) - 1) : '') + String.fromCharCode(65 + (index % 26))
