/** Reads a register archive on disk: a ZIP with one CSV member, or a plain CSV. The first bytes decide which. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { openPromise, type ZipFile } from 'yauzl'
import { ImportError } from './errors.ts'

/** About eleven times the register's archive and CSV of 2026: room to grow, and a bound against ZIP bombs. */
export const ARCHIVE_BYTES_MAX = 512 * 1024 * 1024
export const CSV_BYTES_MAX = 2 * 1024 * 1024 * 1024

const READ_BYTES = 1024 * 1024

export const ZIP_MAGIC = Buffer.from('PK\u0003\u0004')

/** Identifies an archive, so that the same bytes are not imported twice. */
export async function sha256OfFile(path: string, bytesMax = ARCHIVE_BYTES_MAX): Promise<string> {
  const { size } = await statFile(path)
  if (size > bytesMax) throw new ImportError('archive_too_large', `the archive is larger than ${bytesMax} bytes`)
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES })) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

/**
 * Opens the CSV as a stream of bytes. The stream fails with an ImportError if the CSV is too large, cut short or
 * damaged. `onRead` receives the share of the CSV that has been read. For a ZIP it relies on the size that the ZIP
 * states.
 */
export async function openCsv(path: string, onRead?: (share: number) => void): Promise<Readable> {
  const { size } = await statFile(path)
  const source = (await isZip(path))
    ? await openMember(path)
    : { bytes: createReadStream(path, { highWaterMark: READ_BYTES }), statedBytes: size }
  return Readable.from(checkedBytes({ ...source, bytesMax: CSV_BYTES_MAX, onRead }), { objectMode: false })
}

interface CsvSource {
  bytes: Readable
  /** The size that the file or the ZIP states. Used for progress only. */
  statedBytes?: number
  /** The CRC-32 that the ZIP states. yauzl reads it but does not check it. */
  crc?: number
}

interface CheckedBytesOptions extends CsvSource {
  bytesMax: number
  onRead?: ((share: number) => void) | undefined
}

/** Counts the bytes and checks the CRC-32 of the unpacked data. A reader that stops early closes the file. */
export async function* checkedBytes({
  bytes,
  crc,
  bytesMax,
  statedBytes = 0,
  onRead,
}: CheckedBytesOptions): AsyncGenerator<Buffer> {
  let length = 0
  let sum = 0
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > bytesMax) throw csvTooLarge(bytesMax)
      if (crc !== undefined) sum = crc32(chunk, sum)
      onRead?.(Math.min(1, length / statedBytes))
      yield chunk
    }
  } catch (cause) {
    throw cause instanceof ImportError ? cause : archiveDamaged(cause)
  }
  if (crc !== undefined && sum !== crc) throw archiveDamaged()
}

async function statFile(path: string) {
  try {
    const stats = await stat(path)
    if (!stats.isFile()) throw new Error('not a regular file')
    return stats
  } catch (cause) {
    throw new ImportError('source_unreadable', 'the file is missing or is not a regular file', cause)
  }
}

async function isZip(path: string): Promise<boolean> {
  await using file = await open(path)
  const { buffer } = await file.read({ buffer: Buffer.alloc(ZIP_MAGIC.length), position: 0 })
  return buffer.equals(ZIP_MAGIC)
}

async function openMember(path: string): Promise<CsvSource> {
  let zip: ZipFile | undefined
  try {
    zip = await openPromise(path, {
      lazyEntries: true,
      autoClose: false,
      validateEntrySizes: true,
      strictFileNames: true,
    })
    const members = []
    for await (const entry of zip.eachEntry()) {
      members.push(entry)
      if (members.length > 1) throw new ImportError('archive_members', 'the archive has more than one member')
    }
    const [member] = members
    if (!member || member.fileName.includes('/') || !member.fileName.toLowerCase().endsWith('.csv')) {
      throw new ImportError('archive_members', 'the archive does not contain exactly one .csv file at its top level')
    }
    if (member.uncompressedSize > CSV_BYTES_MAX) throw csvTooLarge(CSV_BYTES_MAX)
    const bytes = await zip.openReadStreamPromise(member)
    bytes.once('close', () => zip?.close())
    return { bytes, statedBytes: member.uncompressedSize, crc: member.crc32 }
  } catch (cause) {
    zip?.close()
    throw cause instanceof ImportError ? cause : archiveDamaged(cause)
  }
}

function csvTooLarge(bytesMax: number): ImportError {
  return new ImportError('csv_too_large', `the CSV is larger than ${bytesMax} bytes`)
}

function archiveDamaged(cause?: unknown): ImportError {
  return new ImportError('archive_damaged', 'the archive is damaged or cut short', cause)
}
