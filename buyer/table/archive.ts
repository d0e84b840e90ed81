/**
 * The parts of a ZIP archive (PKWARE APPNOTE.TXT, sections 4.3.12 to 4.5.3). The inflated bytes are counted before they
 * are read, because the sizes that an archive states can be wrong. Runs in browsers too.
 */
import { TableError } from './table-error.ts'

const INFLATED_MIB_MAX = 64
/** The sheet of 20,000 equal rows has 30. A part that is made to be slow has up to 1,000. */
const INFLATION_MAX = 100
const TOO_LARGE = `inflates to more than ${INFLATED_MIB_MAX} MiB, or ${INFLATION_MAX} times its size`
/** Of a part, at any inflation. */
const PART_BYTES_FREE = 1024 * 1024
const ENTRIES_MAX = 4096

const END_OF_DIRECTORY = 0x06054b50
const DIRECTORY_ENTRY = 0x02014b50
const END_BYTES = 22
const COMMENT_BYTES_MAX = 65_535
const STORED = 0
const ZIP64_FIELD = 1
/** Marks a number that is in the zip64 field, in eight bytes. Some writers do this for all. */
const IN_ZIP64 = 0xffffffff
const COUNT_IN_ZIP64 = 0xffff

export interface Part {
  path: string
  /** @throws TableError if the parts that were read inflate to too many bytes */
  read: () => AsyncGenerator<Uint8Array, void>
}

/** Finds a part. Names are equal in any case, and with slashes of both kinds. */
export type FindPart = (path: string) => Part | undefined

const toKey = (path: string) => path.replaceAll('\\', '/').replace(/^\/+/, '').toLowerCase()

/** @throws an error if the archive is damaged */
export function openArchive(bytes: Uint8Array, name: string): FindPart {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const directory = findDirectory(view)
  if (directory.entries > ENTRIES_MAX) throw new TableError(`${name} has more than ${ENTRIES_MAX} parts`)
  const budget = { left: INFLATED_MIB_MAX * 1024 ** 2, fault: `${name} ${TOO_LARGE}` }
  const decoder = new TextDecoder()
  const parts = new Map<string, Part>()
  for (let { at } = directory, entry = 0; entry < directory.entries; entry += 1) {
    if (view.getUint32(at, true) !== DIRECTORY_ENTRY) throw new Error('The directory of the archive is damaged')
    const { packedLength, local } = readEntry(view, at)
    const lengths = [28, 30, 32].map((field) => view.getUint16(at + field, true))
    const path = decoder.decode(bytes.subarray(at + 46, at + 46 + (lengths[0] ?? 0)))
    const isStored = view.getUint16(at + 10, true) === STORED
    const read = () => {
      const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true)
      return readPart(bytes.subarray(start, start + packedLength), isStored, budget)
    }
    parts.set(toKey(path), { path, read })
    at += lengths.reduce((sum, each) => sum + each, 46)
  }
  return (path) => parts.get(toKey(path))
}

/** Counts the bytes first: to inflate is cheap, and what is read of a part that is too large costs seconds. */
async function* readPart(packed: Uint8Array, isStored: boolean, budget: { left: number; fault: string }) {
  const most = Math.min(budget.left, Math.max(PART_BYTES_FREE, INFLATION_MAX * packed.length))
  const open = () => (isStored ? [packed] : inflate(packed))
  let length = 0
  for await (const bytes of open()) {
    length += bytes.length
    if (length > most) throw new TableError(budget.fault)
  }
  budget.left -= length
  yield* open()
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
