/**
 * The first visible sheet of an .xlsx file. The archive is inflated once before it is read, to count its bytes, because
 * the sizes that it states can be wrong.
 */
import { streamXlsxRows } from 'hucre/xlsx'
import type { Cell } from './cell.ts'
import { createPartReader, findTargets, type PartContent } from './shared-strings.ts'
import { TableError } from './table-error.ts'

const INFLATED_MIB_MAX = 64
/** The sheet of 20,000 equal rows has 30. A part that is made to be slow has up to 1,000. */
const INFLATION_MAX = 100
const TOO_LARGE = `inflates to more than ${INFLATED_MIB_MAX} MiB, or ${INFLATION_MAX} times its size`
/** Of a part, at any inflation. */
const PART_BYTES_FREE = 1024 * 1024
const ENTRIES_MAX = 4096
/** Of the rectangle around all cells, which is in memory. */
const CELLS_MAX = 5_000_000
const WORKBOOK = /(?:^|\/)workbook\.xml$/
const RELATIONSHIPS = /^(?:(.*)\/)?_rels\/workbook\.xml\.rels$/
/** Of the workbook, which lists its sheets near the beginning, and of its relationships. */
const WORKBOOK_CHARACTERS_MAX = 256 * 1024
const SHEET = /<(?:\w+:)?sheet\s[^<>]*>/g
const HIDDEN = /\sstate\s*=\s*["'](?:very)?hidden["']/i

export async function readSheet(bytes: Uint8Array, name: string): Promise<Cell[][]> {
  try {
    const inspected = await inspect(bytes, name)
    requireTexts(inspected, name)
    return await readRows(withTargetNames(bytes, inspected), { name, sheet: findVisible(inspected.workbook) })
  } catch (cause) {
    if (cause instanceof TableError) throw cause
    throw new TableError(`${name} is not an .xlsx file that can be read`, { cause })
  }
}

async function readRows(bytes: Uint8Array, { name, sheet }: { name: string; sheet: number }): Promise<Cell[][]> {
  const rows: Cell[][] = []
  let width = 0
  let read = 0
  for await (const { index, values } of streamXlsxRows(bytes, { sheet })) {
    const length = values.findLastIndex((value) => value !== null && value !== '') + 1
    width = Math.max(width, length)
    read += values.length
    // Negated, so that a number that is none is refused too.
    if (!(index >= 0 && (index + 1) * width <= CELLS_MAX && read <= 4 * CELLS_MAX))
      throw new TableError(`${name} has a sheet with more than ${CELLS_MAX} cells`)
    if (length > 0) rows[index] = values.slice(0, length).map(toCell)
  }
  return Array.from(rows, (row) => row ?? [])
}

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Copies each text, because a text of the reader is a slice that keeps a large part of the sheet in memory
 * (`bench perf`, row "client reconcile").
 */
function toCell(value: unknown): Cell {
  if (typeof value === 'string') return decoder.decode(encoder.encode(value))
  return typeof value === 'number' || typeof value === 'boolean' || value instanceof Date ? value : null
}

const END_OF_DIRECTORY = 0x06054b50
const DIRECTORY_ENTRY = 0x02014b50
const END_BYTES = 22
const COMMENT_BYTES_MAX = 65_535
const STORED = 0
const ZIP64_FIELD = 1
/** Marks a number that is in the zip64 field, in eight bytes. Some writers do this for all. */
const IN_ZIP64 = 0xffffffff
const COUNT_IN_ZIP64 = 0xffff

interface Inspected {
  /** The beginning, or nothing if it has an unusual name. */
  workbook: string
  /** The parts that the workbook names. */
  targets: { type: string; path: string }[]
  /** Without workbook and relationships. `at` is the place of the name in the archive. */
  parts: (PartContent & { path: string; at: number })[]
}

/**
 * Inflates each part, and counts its bytes.
 * @throws if an entry of the archive, or all together, inflate to too many bytes
 */
async function inspect(bytes: Uint8Array, name: string): Promise<Inspected> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const directory = findDirectory(view)
  if (directory.entries > ENTRIES_MAX) throw new TableError(`${name} has more than ${ENTRIES_MAX} parts`)
  let left = INFLATED_MIB_MAX * 1024 ** 2
  const inspected: Inspected = { workbook: '', targets: [], parts: [] }
  for (let { at } = directory, entry = 0; entry < directory.entries; entry += 1) {
    if (view.getUint32(at, true) !== DIRECTORY_ENTRY) throw new Error('The directory of the archive is damaged')
    const { packedLength, local } = readEntry(view, at)
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true)
    const packed = bytes.subarray(start, start + packedLength)
    const most = Math.min(left, Math.max(PART_BYTES_FREE, INFLATION_MAX * packed.length))
    const lengths = [28, 30, 32].map((field) => view.getUint16(at + field, true))
    const path = decoder.decode(bytes.subarray(at + 46, at + 46 + (lengths[0] ?? 0)))
    const folder = RELATIONSHIPS.exec(path)
    const isText = folder !== null || WORKBOOK.test(path)
    const reader = createPartReader()
    let text = ''
    let length = 0
    for await (const part of view.getUint16(at + 10, true) === STORED ? [packed] : inflate(packed)) {
      length += part.length
      if (length > most) throw new TableError(`${name} ${TOO_LARGE}`)
      if (!isText) reader.add(part)
      else if (text.length < WORKBOOK_CHARACTERS_MAX) text += decoder.decode(part)
    }
    left -= length
    if (folder) inspected.targets = findTargets(text, folder[1] ?? '')
    else if (isText) inspected.workbook += text
    else inspected.parts.push({ path, at: at + 46, ...reader.content })
    at += lengths.reduce((sum, each) => sum + each, 46)
  }
  return inspected
}

/** @throws TableError if a cell has a shared string that is not there */
function requireTexts({ parts, targets }: Inspected, name: string): void {
  const shared = targets.find(({ type }) => type === 'sharedStrings')?.path.toLowerCase()
  const strings = parts.find(({ path }) => path.toLowerCase() === shared)?.strings ?? 0
  const fault = parts.find(({ highest }) => highest.index >= strings)
  if (fault) throw new TableError(`${name} has no text for the cell ${fault.highest.cell} of ${fault.path}`)
}

/** Names of parts are equal in any case. The reader compares them exactly, so they are written as the workbook does. */
function withTargetNames(bytes: Uint8Array, { parts, targets }: Inspected): Uint8Array {
  const paths = new Map(targets.map(({ path }) => [path.toLowerCase(), path]))
  const renamed = parts.filter(({ path }) => (paths.get(path.toLowerCase()) ?? path) !== path)
  if (renamed.length === 0) return bytes
  const copy = bytes.slice()
  for (const { path, at } of renamed) copy.set(encoder.encode(paths.get(path.toLowerCase())), at)
  return copy
}

/** The index of the first visible sheet, or 0 if all are hidden. */
function findVisible(workbook: string): number {
  const sheets = workbook.match(SHEET) ?? []
  return Math.max(
    0,
    sheets.findIndex((sheet) => !HIDDEN.test(sheet)),
  )
}

/** The number of entries in the directory, and its place. */
function findDirectory(view: DataView): { entries: number; at: number } {
  let end = view.byteLength - END_BYTES
  while (view.getUint32(end, true) !== END_OF_DIRECTORY) {
    end -= 1
    if (end < view.byteLength - END_BYTES - COMMENT_BYTES_MAX) throw new Error('The archive has no directory')
  }
  const [entries, size, at] = [
    view.getUint16(end + 10, true),
    view.getUint32(end + 12, true),
    view.getUint32(end + 16, true),
  ]
  if (entries !== COUNT_IN_ZIP64 && size !== IN_ZIP64 && at !== IN_ZIP64) return { entries, at }
  const zip64 = wideNumber(view, end - 12)
  return { entries: wideNumber(view, zip64 + 32), at: wideNumber(view, zip64 + 48) }
}

/** The compressed length of an entry, and the place of its local header. */
function readEntry(view: DataView, at: number): { packedLength: number; local: number } {
  const numbers = [24, 20, 42].map((field) => view.getUint32(at + field, true))
  if (numbers.includes(IN_ZIP64)) {
    let field = at + 46 + view.getUint16(at + 28, true)
    while (view.getUint16(field, true) !== ZIP64_FIELD) field += 4 + view.getUint16(field + 2, true)
    let next = field + 4
    for (const [index, number] of numbers.entries())
      if (number === IN_ZIP64) {
        numbers[index] = wideNumber(view, next)
        next += 8
      }
  }
  const [, packedLength = 0, local = 0] = numbers
  return { packedLength, local }
}

const wideNumber = (view: DataView, at: number): number => Number(view.getBigUint64(at, true))

async function* inflate(packed: Uint8Array): AsyncGenerator<Uint8Array, void> {
  const reader = new Blob([packed as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new DecompressionStream('deflate-raw'))
    .getReader()
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value
  } finally {
    await reader.cancel()
  }
}
