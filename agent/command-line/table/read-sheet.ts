/**
 * The first visible sheet of an .xlsx file. The reader inflates no part beyond the length that the archive states, so
 * these lengths are checked before it reads.
 */
import { streamXlsxRows } from 'hucre/xlsx'
import type { Cell } from './cell.ts'
import { TableError } from './table-error.ts'

const INFLATED_MIB_MAX = 64
/** The sheet of 20,000 equal rows has 30. A part that is made to be slow has up to 1,000. */
const INFLATION_MAX = 100
/** Of a part, at any inflation. */
const PART_BYTES_FREE = 1024 * 1024
const ENTRIES_MAX = 4096
/** Of the rectangle around all cells, which is in memory. */
const CELLS_MAX = 5_000_000

export async function readSheet(bytes: Uint8Array, name: string): Promise<Cell[][]> {
  try {
    const entries = readEntries(bytes, name)
    requireSmall(entries, name)
    return await readRows(bytes, { name, sheet: await findVisible(entries) })
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

/** The sheets stand near the beginning of a workbook. */
const WORKBOOK_CHARACTERS_MAX = 256 * 1024
const WORKBOOK = /(?:^|\/)workbook\.xml$/
const SHEET = /<(?:\w+:)?sheet\s[^<>]*>/g
const HIDDEN = /\sstate\s*=\s*["'](?:very)?hidden["']/i

/** The index of the first visible sheet, or 0 if all are hidden. */
async function findVisible(entries: readonly Entry[]): Promise<number> {
  const workbook = entries.find(({ path }) => WORKBOOK.test(path))
  const sheets = (workbook ? await readStart(workbook) : '').match(SHEET) ?? []
  return Math.max(
    0,
    sheets.findIndex((sheet) => !HIDDEN.test(sheet)),
  )
}

/** The first characters of an entry, which can inflate to far more. */
async function readStart({ packed, isStored }: Entry): Promise<string> {
  if (isStored) return decoder.decode(packed)
  const inflated = new Blob([new Uint8Array(packed)])
    .stream()
    .pipeThrough(new DecompressionStream('deflate-raw'))
    .getReader()
  let text = ''
  for (let part = await inflated.read(); !part.done; part = await inflated.read()) {
    text += decoder.decode(part.value)
    if (text.length > WORKBOOK_CHARACTERS_MAX) break
  }
  await inflated.cancel()
  return text
}

const END_OF_DIRECTORY = 0x06054b50
const DIRECTORY_ENTRY = 0x02014b50
const END_BYTES = 22
const COMMENT_BYTES_MAX = 65_535
const STORED = 0
const DATA_DESCRIPTOR_FLAG = 8
const ZIP64_FIELD = 1
/** Marks a number that is in the zip64 field, in eight bytes. Some writers do this for all. */
const IN_ZIP64 = 0xffffffff
const COUNT_IN_ZIP64 = 0xffff
/** Bytes that deflate can make of one. */
const DEFLATE_RATIO_MAX = 1032

/** A part of the archive, as its directory describes it. */
interface Entry {
  path: string
  isStored: boolean
  /** The length that the archive states, or the most that it can be. */
  length: number
  packed: Uint8Array
}

/** @throws if an entry of the archive, or all together, can inflate to too many bytes */
function requireSmall(entries: readonly Entry[], name: string): void {
  let left = INFLATED_MIB_MAX * 1024 ** 2
  for (const { length, packed } of entries) {
    left -= length
    if (left < 0 || length > Math.max(PART_BYTES_FREE, INFLATION_MAX * packed.length))
      throw new TableError(`${name} inflates to more than ${INFLATED_MIB_MAX} MiB, or ${INFLATION_MAX} times its size`)
  }
}

function readEntries(bytes: Uint8Array, name: string): Entry[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const directory = findDirectory(view)
  if (directory.entries > ENTRIES_MAX) throw new TableError(`${name} has more than ${ENTRIES_MAX} parts`)
  let { at } = directory
  return Array.from({ length: directory.entries }, () => {
    if (view.getUint32(at, true) !== DIRECTORY_ENTRY) throw new Error('The directory of the archive is damaged')
    const [stated = 0, packedLength = 0, local = 0] = readNumbers(view, at)
    const isStored = view.getUint16(at + 10, true) === STORED
    // The reader takes these lengths from the data descriptor, and inflates without a limit if none is stated.
    if (!isStored && packedLength === 0 && (view.getUint16(at + 8, true) & DATA_DESCRIPTOR_FLAG) !== 0)
      throw new Error('An entry has no length')
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true)
    const lengths = [28, 30, 32].map((field) => view.getUint16(at + field, true))
    const path = decoder.decode(bytes.subarray(at + 46, at + 46 + (lengths[0] ?? 0)))
    at += lengths.reduce((sum, length) => sum + length, 46)
    return {
      path,
      isStored,
      length: Math.max(stated || DEFLATE_RATIO_MAX * packedLength, packedLength),
      packed: bytes.subarray(start, start + packedLength),
    }
  })
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

/** The length of an entry, its compressed length, and the place of its local header, as the directory states them. */
function readNumbers(view: DataView, at: number): number[] {
  const numbers = [24, 20, 42].map((field) => view.getUint32(at + field, true))
  if (!numbers.includes(IN_ZIP64)) return numbers
  let field = at + 46 + view.getUint16(at + 28, true)
  while (view.getUint16(field, true) !== ZIP64_FIELD) field += 4 + view.getUint16(field + 2, true)
  let next = field + 4
  return numbers.map((number) => {
    if (number !== IN_ZIP64) return number
    next += 8
    return wideNumber(view, next - 8)
  })
}

const wideNumber = (view: DataView, at: number): number => Number(view.getBigUint64(at, true))
