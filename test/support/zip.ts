/** Builds ZIP archives, also with wrong headers, for tests (PKWARE APPNOTE.TXT, sections 4.3.7 to 4.3.16). */
import { crc32, deflateRawSync } from 'node:zlib'

export interface ZipMember {
  name: string
  content: Buffer | Uint8Array | string
  /** Values that the headers state instead of the real ones. */
  stated?: { size?: number; crc?: number; encrypted?: boolean; method?: number }
  /**
   * `behind`: sizes and checksum follow the data, as programs write that do not know them before. `wide`: sizes and
   * offsets have eight bytes, as programs write that do not know how long a file gets.
   */
  sizes?: 'behind' | 'wide'
}

const LOCAL_HEADER = 0x04034b50
const SIZES_BEHIND_DATA = 0x08074b50
const CENTRAL_HEADER = 0x02014b50
const WIDE_END_OF_DIRECTORY = 0x06064b50
const WIDE_END_LOCATOR = 0x07064b50
const END_OF_DIRECTORY = 0x06054b50
const VERSION = 20
export const STORED = 0
const DEFLATED = 8
const ENCRYPTED_FLAG = 1
const SIZES_BEHIND_FLAG = 8
const DATE = 0x21 // 1980-01-01
const WIDE_EXTRA = 1
const WIDE_COUNT = 0xffff
const WIDE_SIZE = 0xffffffff

export function buildZip(...members: ZipMember[]): Buffer {
  const locals: Buffer[] = []
  const headers: Buffer[] = []
  let offset = 0
  for (const { name, content, stated = {}, sizes } of members) {
    const raw = Buffer.from(content)
    const method = stated.method ?? DEFLATED
    const packed = method === STORED ? raw : deflateRawSync(raw)
    const fileName = Buffer.from(name)
    const flags = (stated.encrypted ? ENCRYPTED_FLAG : 0) | (sizes === 'behind' ? SIZES_BEHIND_FLAG : 0)
    const common = uint16(VERSION, flags, method, 0, DATE)
    const crc = uint32(stated.crc ?? crc32(raw))
    const size = stated.size ?? raw.length
    const known = [crc, uint32(packed.length, size)]
    const inFront = sizes === 'behind' ? [Buffer.alloc(12)] : known
    const behind = sizes === 'behind' ? [uint32(SIZES_BEHIND_DATA), ...known] : []
    const lengths = uint16(fileName.length, 0)
    const local = Buffer.concat([uint32(LOCAL_HEADER), common, ...inFront, lengths, fileName, packed, ...behind])
    const isWide = sizes === 'wide'
    const extra = isWide ? [uint16(WIDE_EXTRA, 24), uint64(size, packed.length, offset)] : []
    headers.push(
      uint32(CENTRAL_HEADER),
      uint16(VERSION),
      common,
      ...(isWide ? [crc, uint32(WIDE_SIZE, WIDE_SIZE)] : known),
      uint16(fileName.length, isWide ? 28 : 0, 0, 0, 0),
      uint32(0, isWide ? WIDE_SIZE : offset),
      fileName,
      ...extra,
    )
    locals.push(local)
    offset += local.length
  }
  const directory = Buffer.concat(headers)
  const isWide = members.some(({ sizes }) => sizes === 'wide')
  const end = isWide ? wideEnd(members.length, directory.length, offset) : []
  const [count, size, start] = isWide ? [WIDE_COUNT, WIDE_SIZE, WIDE_SIZE] : [members.length, directory.length, offset]
  end.push(uint32(END_OF_DIRECTORY), uint16(0, 0, count, count), uint32(size, start), uint16(0))
  return Buffer.concat([...locals, directory, ...end])
}

function wideEnd(count: number, size: number, offset: number): Buffer[] {
  return [
    uint32(WIDE_END_OF_DIRECTORY),
    uint64(44),
    Buffer.alloc(12),
    uint64(count, count, size, offset),
    uint32(WIDE_END_LOCATOR, 0),
    uint64(offset + size),
    uint32(1),
  ]
}

/** Numbers as little-endian bytes. */
const uint16 = (...values: number[]) => Buffer.from(new Uint16Array(values).buffer)
const uint32 = (...values: number[]) => Buffer.from(new Uint32Array(values).buffer)
const uint64 = (...values: number[]) => Buffer.from(new BigUint64Array(values.map(BigInt)).buffer)
