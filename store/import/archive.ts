/** Reads a register archive on disk: a ZIP with one CSV, a gzip or a plain CSV. The first bytes decide which. */
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { pipeline, type Readable } from 'node:stream'
import { crc32, createGunzip } from 'node:zlib'
import { openPromise, type Entry, type ZipFile } from 'yauzl'
import { sha256Of } from '../files/checksum.ts'
import { ImportError } from './errors.ts'

/** About eleven times the register's archive and CSV of 2026: room to grow, and a bound against ZIP bombs. */
export const ARCHIVE_BYTES_MAX = 512 * 1024 * 1024
export const CSV_BYTES_MAX = 2 * 1024 * 1024 * 1024

const READ_BYTES = 1024 * 1024

/** The first bytes, in hexadecimal digits, of the kinds that are read and of others, which are named in the refusal. */
const MAGIC = /^(?:(?<zip>504b0304)|(?<gzip>1f8b)|(?<bzip2>425a68)|(?<xz>fd377a)|(?<zstd>28b52f)|(?<sevenZip>377abc))/
const MAGIC_BYTES_MAX = 4

/** Compression methods of a ZIP's member (PKWARE APPNOTE.TXT, section 4.4.5). */
const STORED = 0
const DEFLATED = 8

/** A register has one member, perhaps with a description. */
const MEMBERS_MAX = 100

/** @throws ImportError for a kind of archive that is not read */
export function findFormat(head: Buffer): 'zip' | 'gzip' | 'text' {
  const groups = MAGIC.exec(head.toString('hex', 0, MAGIC_BYTES_MAX))?.groups ?? { text: '' }
  const format = Object.keys(groups).find((name) => groups[name] !== undefined)
  if (format === 'zip' || format === 'gzip' || format === 'text') return format
  throw new ImportError('archive_compression', `the archive is compressed with ${format}; ZIP and gzip are read`)
}

/** Identifies an archive, so that the same bytes are not imported twice. */
export async function sha256OfFile(path: string, bytesMax = ARCHIVE_BYTES_MAX): Promise<string> {
  const { size } = await statFile(path)
  if (size > bytesMax) throw new ImportError('archive_too_large', `the archive is larger than ${bytesMax} bytes`)
  return sha256Of(path)
}

/**
 * Opens the CSV. Reading its bytes fails with an ImportError if the CSV is too large, cut short or damaged. `onRead`
 * receives the share of the CSV that has been read. For a ZIP it relies on the size that the ZIP states.
 */
export async function openCsv(path: string, onRead?: (share: number) => void): Promise<AsyncGenerator<Buffer>> {
  const { size } = await statFile(path)
  return checkedBytes(await openSource(path, size), CSV_BYTES_MAX, onRead)
}

async function openSource(path: string, size: number): Promise<CsvSource> {
  const format = findFormat(await readHead(path))
  if (format === 'zip') return openMember(path)
  const bytes = createReadStream(path, { highWaterMark: READ_BYTES })
  // Progress jumps to its end, because a gzip states its size only in its last bytes.
  if (format === 'gzip') return { bytes: pipeline(bytes, createGunzip(), () => undefined), statedBytes: size }
  return { bytes, statedBytes: size }
}

interface CsvSource {
  bytes: Readable
  /** Used for progress only. */
  statedBytes?: number
  /** The CRC-32 that the ZIP states. yauzl reads it but does not check it. */
  crc?: number
}

/** Counts the bytes and checks the CRC-32 of the unpacked data. A reader that stops early closes the file. */
export async function* checkedBytes(
  { bytes, crc, statedBytes = 0 }: CsvSource,
  bytesMax: number,
  onRead?: (share: number) => void,
): AsyncGenerator<Buffer> {
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
    throw new ImportError('source_unreadable', `${path}: is missing or is not a regular file`, cause)
  }
}

async function readHead(path: string): Promise<Buffer> {
  await using file = await open(path)
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAGIC_BYTES_MAX), position: 0 })
  return buffer.subarray(0, bytesRead)
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
    const member = await findCsv(zip)
    const { compressionMethod: method } = member
    if (method !== STORED && method !== DEFLATED)
      throw new ImportError('archive_compression', `the ZIP uses compression method ${method}; 0 and 8 are read`)
    if (member.uncompressedSize > CSV_BYTES_MAX) throw csvTooLarge(CSV_BYTES_MAX)
    const bytes = await zip.openReadStreamPromise(member)
    bytes.once('close', () => zip?.close())
    return { bytes, statedBytes: member.uncompressedSize, crc: member.crc32 }
  } catch (cause) {
    zip?.close()
    throw cause instanceof ImportError ? cause : archiveDamaged(cause)
  }
}

/** Portals and programs add descriptions, folders and `__MACOSX/` to the CSV. */
async function findCsv(zip: ZipFile): Promise<Entry> {
  const found: Entry[] = []
  let members = 0
  for await (const entry of zip.eachEntry()) {
    members += 1
    if (members > MEMBERS_MAX) throw new ImportError('archive_members', `the archive has over ${MEMBERS_MAX} members`)
    if (/\.csv$/i.test(entry.fileName) && !entry.fileName.startsWith('__MACOSX/')) found.push(entry)
  }
  const [csv] = found
  if (csv && found.length === 1) return csv
  throw new ImportError('archive_members', 'the archive does not contain exactly one .csv file')
}

function csvTooLarge(bytesMax: number): ImportError {
  return new ImportError('csv_too_large', `the CSV is larger than ${bytesMax} bytes`)
}

function archiveDamaged(cause?: unknown): ImportError {
  return new ImportError('archive_damaged', 'the archive is damaged or cut short', cause)
}
