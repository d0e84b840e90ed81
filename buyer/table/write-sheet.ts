/** Rows as the bytes of an .xlsx file with one sheet (ECMA-376, part 1, section 18). Runs in browsers too. */
import { Zip, ZipDeflate } from 'fflate'
import { isTime, TIME_EPOCH, toText, type Cell, type Rows } from './cell.ts'
import { DAY_MS } from '../../base/day.ts'

export const SHEET_ROWS_MAX = 1_048_576

/** Rows that show how wide the columns are. */
const SAMPLE_ROWS = 100
const WIDTH_MIN = 9
const WIDTH_MAX = 50
/** Characters that are compressed at once. */
const CHUNK_CHARACTERS = 64 * 1024

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const TYPES = 'application/vnd.openxmlformats-officedocument.spreadsheetml'
const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'

/** By the index of the style of a cell. */
const FORMATS = ['General', 'yyyy\\-mm\\-dd', 'yyyy\\-mm\\-dd\\ hh:mm:ss', '[hh]:mm', '[hh]:mm:ss']
const [DATE, DATE_TIME, TIME, TIME_SECONDS] = [1, 2, 3, 4]
const formatId = (index: number) => (index === 0 ? 0 : 163 + index)
const STYLES =
  `<styleSheet xmlns="${MAIN}"><numFmts count="${FORMATS.length - 1}">` +
  FORMATS.map((code, at) => (at === 0 ? '' : `<numFmt numFmtId="${formatId(at)}" formatCode="${code}"/>`)).join('') +
  '</numFmts><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill>' +
  '<patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>' +
  '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>' +
  `<cellXfs count="${FORMATS.length}">${FORMATS.map((_, at) => `<xf numFmtId="${formatId(at)}" xfId="0" applyNumberFormat="1"/>`).join('')}</cellXfs></styleSheet>`

const relationship = (id: number, type: string, target: string) =>
  `<Relationship Id="rId${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`
const relationships = (...each: string[]) =>
  `<Relationships xmlns="${PACKAGE}/relationships">${each.join('')}</Relationships>`
const override = (path: string, type: string) => `<Override PartName="/${path}" ContentType="${TYPES}.${type}+xml"/>`

const PARTS = {
  '[Content_Types].xml':
    `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ` +
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
    `${override('xl/workbook.xml', 'sheet.main')}${override('xl/worksheets/sheet1.xml', 'worksheet')}` +
    `${override('xl/styles.xml', 'styles')}</Types>`,
  '_rels/.rels': relationships(relationship(1, 'officeDocument', 'xl/workbook.xml')),
  'xl/workbook.xml':
    `<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><bookViews><workbookView/></bookViews>` +
    '<sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>',
  'xl/_rels/workbook.xml.rels': relationships(
    relationship(1, 'worksheet', 'worksheets/sheet1.xml'),
    relationship(2, 'styles', 'styles.xml'),
  ),
  'xl/styles.xml': STYLES,
}

/** @param headerRow from 1: it and the rows above stay in view, and it has the filter */
export async function encodeSheet(rows: Rows, headerRow: number | undefined): Promise<Uint8Array<ArrayBuffer>> {
  const written: Uint8Array<ArrayBuffer>[] = []
  const archive = new Zip((fault, bytes) => {
    if (fault) throw fault
    written.push(bytes)
  })
  const encoder = new TextEncoder()
  const add = (name: string) => {
    const part = new ZipDeflate(name)
    archive.add(part)
    return (text: string, isLast = false) => part.push(encoder.encode(text), isLast)
  }
  for (const [name, text] of Object.entries(PARTS)) add(name)(DECLARATION + text, true)
  const write = add('xl/worksheets/sheet1.xml')
  let text = ''
  for await (const part of sheetParts(rows, headerRow)) {
    text += part
    if (text.length < CHUNK_CHARACTERS) continue
    write(text)
    text = ''
  }
  write(text, true)
  archive.end()
  return new Uint8Array(await new Blob(written).arrayBuffer())
}

async function* sheetParts(rows: Rows, headerRow = 0): AsyncGenerator<string> {
  let count = 0
  let width = 0
  const sample: (readonly Cell[])[] = []
  for await (const row of rows) {
    width = Math.max(width, row.length)
    if (sample.length < SAMPLE_ROWS) sample.push(row)
    else {
      if (count === 0) yield* sheetStart(sample, headerRow)
      count = Math.max(count, sample.length) + 1
      yield toRow(row, count)
    }
  }
  if (count === 0) yield* sheetStart(sample, headerRow)
  count = Math.max(count, sample.length)
  const filter = headerRow > 0 && width > 0 ? `<autoFilter ref="A${headerRow}:${letters(width - 1)}${count}"/>` : ''
  yield `</sheetData>${filter}</worksheet>`
}

/** What stands above the first row that is no longer a sample, with these rows. */
function* sheetStart(sample: readonly (readonly Cell[])[], headerRow: number): Generator<string> {
  const columns = sample.reduce((most, { length }) => Math.max(most, length), 0)
  const widths = Array.from({ length: columns }, (_, at) => {
    const longest = Math.max(...sample.slice(Math.max(0, headerRow - 1)).map((row) => toText(row[at]).length))
    return Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, longest + 2))
  })
  const pane = `<pane ySplit="${headerRow}" topLeftCell="A${headerRow + 1}" activePane="bottomLeft" state="frozen"/>`
  yield `${DECLARATION}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0">`
  yield `${headerRow > 0 ? pane : ''}</sheetView></sheetViews><sheetFormatPr defaultRowHeight="15"/>`
  if (columns > 0)
    yield `<cols>${widths.map((each, at) => `<col min="${at + 1}" max="${at + 1}" width="${each}" customWidth="1"/>`).join('')}</cols>`
  yield '<sheetData>'
  for (const [at, row] of sample.entries()) yield toRow(row, at + 1)
}

const toRow = (row: readonly Cell[], number: number): string =>
  `<row r="${number}">${row.map((cell, at) => toElement(cell, `${letters(at)}${number}`)).join('')}</row>`

function toElement(cell: Cell, reference: string): string {
  if (cell === null || cell === '') return ''
  if (typeof cell === 'number') return Number.isFinite(cell) ? `<c r="${reference}"><v>${cell}</v></c>` : ''
  if (typeof cell === 'boolean') return `<c r="${reference}" t="b"><v>${Number(cell)}</v></c>`
  if (cell instanceof Date) return `<c r="${reference}" s="${styleOf(cell)}"><v>${toSerial(cell)}</v></c>`
  const space = /^\s|\s$|\n/.test(cell) ? ' xml:space="preserve"' : ''
  return `<c r="${reference}" t="inlineStr"><is><t${space}>${escape(cell)}</t></is></c>`
}

function styleOf(date: Date): number {
  if (isTime(date)) return date.getUTCSeconds() === 0 ? TIME : TIME_SECONDS
  return toText(date).length > 'YYYY-MM-DD'.length ? DATE_TIME : DATE
}

/** The format counts a 29 February 1900. */
const FIRST_DAYS = 61

function toSerial(date: Date): number {
  const serial = (date.getTime() - TIME_EPOCH) / DAY_MS
  return isTime(date) || serial >= FIRST_DAYS ? serial : serial - 1
}

/** Characters that XML does not have, and what a reader takes for one of them, are escaped as `_xHHHH_`. */
// eslint-disable-next-line no-control-regex
const ESCAPED = /[\0-\x08\x0b-\x1f\uFFFE\uFFFF]|_(?=x[0-9a-f]{4}_)/gi

const escape = (text: string): string =>
  text
    .replaceAll(ESCAPED, (each) => `_x${each.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')

const LETTERS: string[] = []

/** The letters of a column, by its index. */
function letters(at: number): string {
  const known = LETTERS[at]
  if (known !== undefined) return known
  const before = Math.floor(at / 26)
  return (LETTERS[at] = (before > 0 ? letters(before - 1) : '') + String.fromCharCode(65 + (at % 26)))
}
