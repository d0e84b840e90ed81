/** A register archive on disk: a ZIP with one CSV member, or the CSV itself, told apart by their bytes. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { openPromise, type ZipFile } from 'yauzl'
import { ImportError } from './errors.ts'

/** Eleven times the register's archive and its CSV of today: a bound against bombs, with room to grow. */
export const ARCHIVE_BYTES_MAX = 512 * 1024 * 1024
export const CSV_BYTES_MAX = 2 * 1024 * 1024 * 1024

export const ZIP_MAGIC = Buffer.from('PK\u0003\u0004')

/** The archive's identity: the same bytes need not be imported twice. */
export async function sha256OfFile(path: string, bytesMax = ARCHIVE_BYTES_MAX): Promise<string> {
  const { size } = await statFile(path)
  if (size > bytesMax) throw new ImportError('archive_too_large', `the archive has over ${bytesMax} bytes`)
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

/**
 * The CSV's bytes as a stream that ends in an error when they are too many, cut short or damaged. `onRead` is told the
 * share of the CSV that has been read, by its own bytes or by what the ZIP says of them: enough for who waits.
 */
export async function openCsv(path: string, onRead?: (share: number) => void): Promise<Readable> {
  const { size } = await statFile(path)
  const opened = (await isZip(path))
    ? await openMember(path)
    : { bytes: createReadStream(path, { highWaterMark: 1 << 20 }), bytesPromised: size }
  return Readable.from(checkedBytes({ ...opened, bytesMax: CSV_BYTES_MAX, onRead }), { objectMode: false })
}

interface Opened {
  bytes: Readable
  bytesPromised?: number
  /** The CRC-32 that the ZIP promises; yauzl reads it and leaves the comparison to us. */
  crc?: number
}

interface Check extends Opened {
  bytesMax: number
  onRead?: ((share: number) => void) | undefined
}

/** Counts and checks what really comes out: a ZIP's own word is not trusted. Leaving early closes the file. */
export async function* checkedBytes({
  bytes,
  crc,
  bytesMax,
  bytesPromised = 0,
  onRead,
}: Check): AsyncGenerator<Buffer> {
  let length = 0
  let sum = 0
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > bytesMax) throw tooLarge(bytesMax)
      if (crc !== undefined) sum = crc32(chunk, sum)
      onRead?.(Math.min(1, length / bytesPromised))
      yield chunk
    }
  } catch (cause) {
    throw cause instanceof ImportError ? cause : damaged(cause)
  }
  if (crc !== undefined && sum !== crc) throw damaged()
}

async function statFile(path: string) {
  try {
    const found = await stat(path)
    if (!found.isFile()) throw new Error('not a regular file')
    return found
  } catch (cause) {
    throw new ImportError('source_unreadable', 'the file is missing or not a file', cause)
  }
}

async function isZip(path: string): Promise<boolean> {
  const file = await open(path)
  try {
    const { buffer } = await file.read({ buffer: Buffer.alloc(ZIP_MAGIC.length), position: 0 })
    return buffer.equals(ZIP_MAGIC)
  } finally {
    await file.close()
  }
}

async function openMember(path: string): Promise<Opened> {
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
      throw new ImportError('archive_members', 'the archive does not hold one .csv file')
    }
    if (member.uncompressedSize > CSV_BYTES_MAX) throw tooLarge(CSV_BYTES_MAX)
    const bytes = await zip.openReadStreamPromise(member)
    bytes.once('close', () => zip?.close())
    return { bytes, bytesPromised: member.uncompressedSize, crc: member.crc32 }
  } catch (cause) {
    zip?.close()
    if (cause instanceof ImportError) throw cause
    throw damaged(cause)
  }
}

function tooLarge(bytesMax: number): ImportError {
  return new ImportError('csv_too_large', `the CSV has over ${bytesMax} bytes`)
}

function damaged(cause?: unknown): ImportError {
  return new ImportError('archive_damaged', 'the archive is damaged or cut short', cause)
}
