/**
 * The first visible sheet of an .xlsx file. The reader inflates no part beyond the length that the archive states, so
 * these lengths are checked before it reads.
 */
import { readXlsx, streamXlsxRows } from 'hucre/xlsx'
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
    requireSmall(bytes, name)
    return await readRows(bytes, name)
  } catch (cause) {
    if (cause instanceof TableError) throw cause
    throw new TableError(`${name} is not an .xlsx file that can be read`, { cause })
  }
}

async function readRows(bytes: Uint8Array, name: string): Promise<Cell[][]> {
  const rows: Cell[][] = []
  let width = 0
  let read = 0
  for await (const { index, values } of streamXlsxRows(bytes, { sheet: await findVisible(bytes) })) {
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

/** The index of the first sheet that a person sees. */
async function findVisible(bytes: Uint8Array): Promise<number> {
  const visible: number[] = []
  await readXlsx(bytes, {
    sheets: ({ index, hidden, veryHidden }) => {
      if (!hidden && !veryHidden) visible.push(index)
      return false
    },
  })
  return visible[0] ?? 0
}

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Copies each text, because a text of the reader is a slice that keeps a large part of the sheet in memory
 * (`bench perf --only list`).
 */
function toCell(value: unknown): Cell {
  if (typeof value === 'string') return decoder.decode(encoder.encode(value))
  return typeof value === 'number' || typeof value === 'boolean' || value instanceof Date ? value : null
}

const END_OF_DIRECTORY = 0x06054b50
const DIRECTORY_ENTRY = 0x02014b50
const END_BYTES = 22
const COMMENT_BYTES_MAX = 65_535
const IS_STREAMED = 8
const ZIP64_FIELD = 1
/** In place of a number that the zip64 field has, with eight bytes. Some writers put all numbers there. */
const IN_ZIP64 = 0xffffffff
const COUNT_IN_ZIP64 = 0xffff
/** The most that a byte can inflate to. */
const DEFLATE_MAX = 1032

/** @throws if an entry of the archive, or all together, can inflate to too many bytes */
function requireSmall(bytes: Uint8Array, name: string): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const directory = findDirectory(view)
  if (directory.entries > ENTRIES_MAX) throw new TableError(`${name} has more than ${ENTRIES_MAX} parts`)
  let left = INFLATED_MIB_MAX * 1024 ** 2
  for (let { at } = directory, entry = 0; entry < directory.entries; entry += 1) {
    if (view.getUint32(at, true) !== DIRECTORY_ENTRY) throw new Error('The directory of the archive is damaged')
    const [stated = 0, packed = 0] = readLengths(view, at)
    // The reader takes the lengths of such an entry from another place, and does not limit one of no stated length.
    if (packed === 0 && (view.getUint16(at + 8, true) & IS_STREAMED) !== 0) throw new Error('An entry has no length')
    const length = Math.max(stated || DEFLATE_MAX * packed, packed)
    left -= length
    if (left < 0 || length > Math.max(PART_BYTES_FREE, INFLATION_MAX * packed))
      throw new TableError(`${name} inflates to more than ${INFLATED_MIB_MAX} MiB, or ${INFLATION_MAX} times its size`)
    at += 46 + [28, 30, 32].reduce((sum, field) => sum + view.getUint16(at + field, true), 0)
  }
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

/** The length of an entry and its compressed length, as the archive states them. */
function readLengths(view: DataView, at: number): number[] {
  const lengths = [24, 20].map((field) => view.getUint32(at + field, true))
  if (!lengths.includes(IN_ZIP64)) return lengths
  let field = at + 46 + view.getUint16(at + 28, true)
  while (view.getUint16(field, true) !== ZIP64_FIELD) field += 4 + view.getUint16(field + 2, true)
  const wide = [4, 12].map((place) => wideNumber(view, field + place))
  return lengths.map((length) => (length === IN_ZIP64 ? (wide.shift() ?? 0) : length))
}

const wideNumber = (view: DataView, at: number): number => Number(view.getBigUint64(at, true))
