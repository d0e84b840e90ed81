/**
 * Writes a ZIP archive of one member as a stream (PKWARE's APPNOTE.TXT, sections 4.3.7 to 4.3.16). Sizes and checksum are
 * known only at the end, so they follow the member in a data descriptor. The same content gives the same bytes: no clock.
 */
import { pipeline, Readable } from 'node:stream'
import { crc32, createDeflateRaw } from 'node:zlib'

const LOCAL_HEADER = 0x04034b50
const DATA_DESCRIPTOR = 0x08074b50
const CENTRAL_HEADER = 0x02014b50
const END_OF_DIRECTORY = 0x06054b50
const VERSION = 20
/** Sizes in a data descriptor (bit 3), file name in UTF-8 (bit 11). */
const FLAGS = 0x0808
const DEFLATED = 8
const DEFLATE_LEVEL = 6
/** 1980-01-01, midnight: the first day that a ZIP can name. */
const FIXED_TIME = 0
const FIXED_DATE = 0x0021
/** Larger ones need ZIP64; a register's archive is refused long before (store/import/archive.ts). */
const ZIP_BYTES_MAX = 0xffffffff

/** Yields the archive's bytes; holds no more of the content than one chunk. */
export async function* zipArchive(fileName: string, content: Iterable<Buffer>): AsyncGenerator<Buffer> {
  const name = Buffer.from(fileName)
  const sums = { crc: 0, packed: 0, size: 0 }
  function* counted(): Generator<Buffer> {
    for (const chunk of content) {
      sums.crc = crc32(chunk, sums.crc)
      sums.size += chunk.length
      yield chunk
    }
  }
  const local = record(LOCAL_HEADER, [...memberFields({ crc: 0, packed: 0, size: 0 }), [2, name.length], [2, 0]], name)
  yield local
  const packed = createDeflateRaw({ level: DEFLATE_LEVEL })
  // The loop below gets the error of either side.
  pipeline(Readable.from(counted(), { objectMode: false }), packed, () => undefined)
  for await (const chunk of packed as AsyncIterable<Buffer>) {
    sums.packed += chunk.length
    yield chunk
  }
  if (Math.max(sums.size, sums.packed) > ZIP_BYTES_MAX) throw new RangeError('A ZIP member holds less than 4 GiB')
  const descriptor = record(DATA_DESCRIPTOR, sumFields(sums))
  yield descriptor
  // Version made by; then, after the lengths: comment, disk, attributes inside and outside, place of the local header.
  const central = record(
    CENTRAL_HEADER,
    [[2, VERSION], ...memberFields(sums), [2, name.length], [2, 0], [2, 0], [2, 0], [2, 0], [4, 0], [4, 0]],
    name,
  )
  yield central
  const directoryAt = local.length + sums.packed + descriptor.length
  // Disk, disk of the directory, entries here and in all, the directory's size and place, comment.
  yield record(END_OF_DIRECTORY, [
    [2, 0],
    [2, 0],
    [2, 1],
    [2, 1],
    [4, central.length],
    [4, directoryAt],
    [2, 0],
  ])
}

type Sums = { crc: number; packed: number; size: number }
type Field = readonly [bytes: 2 | 4, value: number]

const sumFields = ({ crc, packed, size }: Sums): Field[] => [
  [4, crc],
  [4, packed],
  [4, size],
]

const memberFields = (sums: Sums): Field[] => [
  [2, VERSION],
  [2, FLAGS],
  [2, DEFLATED],
  [2, FIXED_TIME],
  [2, FIXED_DATE],
  ...sumFields(sums),
]

/** A signature and its fields, little-endian, with what follows them. */
function record(signature: number, fields: readonly Field[], rest = Buffer.alloc(0)): Buffer {
  const parts = [[4, signature] as const, ...fields].map(([bytes, value]) => {
    const part = Buffer.alloc(bytes)
    part.writeUIntLE(value, 0, bytes)
    return part
  })
  return Buffer.concat([...parts, rest])
}
