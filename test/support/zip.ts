/** Builds ZIP archives, also with wrong headers, for tests (PKWARE APPNOTE.TXT, sections 4.3.7 to 4.3.16). */
import { crc32, deflateRawSync } from 'node:zlib'

export interface ZipMember {
  name: string
  content: Buffer | string
  /** Values that the headers state instead of the real ones. */
  stated?: { size?: number; crc?: number; encrypted?: boolean; method?: number }
}

const LOCAL_HEADER = 0x04034b50
const CENTRAL_HEADER = 0x02014b50
const END_OF_DIRECTORY = 0x06054b50
const VERSION = 20
const STORED = 0
const DEFLATED = 8
const ENCRYPTED_FLAG = 1

export function buildZip(...members: ZipMember[]): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const { name, content, stated = {} } of members) {
    const raw = Buffer.from(content)
    const method = stated.method ?? DEFLATED
    const packed = method === STORED ? raw : deflateRawSync(raw)
    const fileName = Buffer.from(name)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(VERSION, 0)
    fields.writeUInt16LE(stated.encrypted ? ENCRYPTED_FLAG : 0, 2)
    fields.writeUInt16LE(method, 4)
    fields.writeUInt32LE(stated.crc ?? crc32(raw), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(stated.size ?? raw.length, 18)
    fields.writeUInt16LE(fileName.length, 22)
    const local = Buffer.concat([signature(LOCAL_HEADER), fields, fileName, packed])
    const position = Buffer.alloc(14)
    position.writeUInt32LE(offset, 10)
    const madeBy = Buffer.from([VERSION, 0])
    directory.push(Buffer.concat([signature(CENTRAL_HEADER), madeBy, fields, position, fileName]))
    locals.push(local)
    offset += local.length
  }
  const directoryBytes = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(members.length, 4)
  end.writeUInt16LE(members.length, 6)
  end.writeUInt32LE(directoryBytes.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...locals, directoryBytes, signature(END_OF_DIRECTORY), end])
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
