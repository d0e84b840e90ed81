/**
 * Writes a ZIP archive with one file as a stream (PKWARE APPNOTE.TXT, sections 4.3.7 to 4.3.16). Sizes and checksum
 * follow the file in a data descriptor. The archive contains no time, so the same content gives the same bytes.
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
/** 1980-01-01, the earliest date in a ZIP archive. */
const FIXED_DATE = 0x0021
/** A larger file needs ZIP64. The importer refuses archives far below this size. */
const ZIP_BYTES_MAX = 0xffffffff

/** Yields the bytes of the archive. Only one chunk of the content is in memory. */
export async function* zipArchive(fileName: string, content: Iterable<Buffer>): AsyncGenerator<Buffer> {
  const name = Buffer.from(fileName)
  let [crc, packed, size] = [0, 0, 0]
  function* counted(): Generator<Buffer> {
    for (const chunk of content) {
      crc = crc32(chunk, crc)
      size += chunk.length
      yield chunk
    }
  }
  const format = u16(VERSION, FLAGS, DEFLATED, 0, FIXED_DATE)
  const nameLength = u16(name.length, 0)
  const local = Buffer.concat([u32(LOCAL_HEADER), format, u32(0, 0, 0), nameLength, name])
  yield local
  const deflate = createDeflateRaw()
  // The loop below throws the error of either stream.
  pipeline(Readable.from(counted(), { objectMode: false }), deflate, () => undefined)
  for await (const chunk of deflate as AsyncIterable<Buffer>) {
    packed += chunk.length
    yield chunk
  }
  if (Math.max(size, packed) > ZIP_BYTES_MAX) throw new RangeError('A file in a ZIP archive must be smaller than 4 GiB')
  const sums = u32(crc, packed, size)
  const descriptor = Buffer.concat([u32(DATA_DESCRIPTOR), sums])
  yield descriptor
  // The zeros are the comment, the disk, the attributes and the offset of the local header.
  const central = [u32(CENTRAL_HEADER), u16(VERSION), format, sums, nameLength, u16(0, 0, 0), u32(0, 0), name]
  const directory = Buffer.concat(central)
  yield directory
  // Disk, disk of the directory, entries on this disk, all entries, size and offset of the directory, comment length.
  const directoryOffset = local.length + packed + descriptor.length
  yield Buffer.concat([u32(END_OF_DIRECTORY), u16(0, 0, 1, 1), u32(directory.length, directoryOffset), u16(0)])
}

function u16(...values: number[]): Buffer {
  return littleEndian(2, values)
}

function u32(...values: number[]): Buffer {
  return littleEndian(4, values)
}

function littleEndian(bytes: 2 | 4, values: readonly number[]): Buffer {
  const buffer = Buffer.alloc(bytes * values.length)
  values.forEach((value, index) => buffer.writeUIntLE(value, index * bytes, bytes))
  return buffer
}
