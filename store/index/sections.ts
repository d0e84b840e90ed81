/**
 * The file of a name index: named arrays of numbers, sealed. Read into memory in one go and used as it lies there.
 *
 *   8 bytes   length of the header, little endian
 *   header    JSON: { facts, sections: { name: [type, byte offset, length] } }
 *   arrays    each at a multiple of 8, little endian
 *   32 bytes  SHA-256 of everything before
 */
import { createHash, hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { endianness } from 'node:os'
import { z } from 'zod'
import { StoreError } from '../open.ts'

const HEADER_LENGTH_BYTES = 8
const SEAL_BYTES = 32
const ALIGNMENT_BYTES = 8

const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array } as const

type Section = Uint8Array | Uint16Array | Uint32Array

const headerSchema = z.strictObject({
  facts: z.unknown(),
  sections: z.record(z.string(), z.tuple([z.enum(['u8', 'u16', 'u32']), z.int().nonnegative(), z.int().nonnegative()])),
})

/** What an index consists of: arrays by name, and whatever small facts go with them, as JSON. */
export interface IndexParts {
  facts: unknown
  sections: Record<string, Section>
}

/** Writes the file and waits until it is on disk. */
export async function writeIndexFile(path: string, { facts, sections }: IndexParts): Promise<void> {
  mustBeLittleEndian()
  let offset = 0
  const placed: z.infer<typeof headerSchema>['sections'] = {}
  for (const [name, section] of Object.entries(sections)) {
    placed[name] = [typeOf(section), offset, section.length]
    offset += padded(section.byteLength)
  }
  const header = Buffer.from(JSON.stringify({ facts, sections: placed }))
  const seal = createHash('sha256')
  const file = await open(path, 'wx')
  try {
    const write = async (bytes: Uint8Array) => {
      seal.update(bytes)
      await file.writeFile(bytes)
    }
    await write(headerLength(header.length))
    await write(Buffer.concat([header, Buffer.alloc(padded(header.length) - header.length)]))
    for (const { buffer, byteOffset, byteLength } of Object.values(sections)) {
      await write(new Uint8Array(buffer, byteOffset, byteLength))
      await write(Buffer.alloc(padded(byteLength) - byteLength))
    }
    await file.writeFile(seal.digest())
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Reads and checks a file. Throws {@link StoreError} when it is not what was written. */
function readIndexFile(bytes: ArrayBuffer, path: string): IndexParts {
  mustBeLittleEndian()
  const end = bytes.byteLength - SEAL_BYTES
  const damaged = (cause?: unknown) => new StoreError(`${path}: is not a name index, or damaged`, { cause })
  if (end < HEADER_LENGTH_BYTES) throw damaged()
  const seal = hash('sha256', new Uint8Array(bytes, 0, end), 'buffer')
  if (!seal.equals(new Uint8Array(bytes, end))) throw damaged()
  try {
    const length = Number(new DataView(bytes).getBigUint64(0, true))
    const text = new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array(bytes, HEADER_LENGTH_BYTES, length))
    const header = headerSchema.parse(JSON.parse(text))
    const start = HEADER_LENGTH_BYTES + padded(length)
    const sections = Object.entries(header.sections).map(
      ([name, [type, offset, count]]) => [name, new ARRAYS[type](bytes, start + offset, count)] as const,
    )
    return { facts: header.facts, sections: Object.fromEntries(sections) }
  } catch (cause) {
    throw damaged(cause)
  }
}

/** Reads a file from disk. */
export function loadIndexFile(path: string): IndexParts {
  const { buffer, byteOffset, byteLength } = readFileSync(path)
  // A small file comes in a buffer that it shares with others.
  const isWhole = byteOffset === 0 && byteLength === buffer.byteLength
  return readIndexFile(isWhole ? buffer : buffer.slice(byteOffset, byteOffset + byteLength), path)
}

/** Whether a file is there and what was written; read in passing, not into memory. */
export async function isSoundIndexFile(path: string): Promise<boolean> {
  const { size } = await stat(path).catch(() => ({ size: 0 }))
  if (size < HEADER_LENGTH_BYTES + SEAL_BYTES) return false
  const file = await open(path)
  try {
    const content = createHash('sha256')
    for await (const chunk of file.createReadStream({ end: size - SEAL_BYTES - 1, autoClose: false }))
      content.update(chunk)
    const { buffer } = await file.read({ buffer: Buffer.alloc(SEAL_BYTES), position: size - SEAL_BYTES })
    return content.digest().equals(buffer)
  } finally {
    await file.close()
  }
}

function headerLength(length: number): Uint8Array {
  const bytes = Buffer.alloc(HEADER_LENGTH_BYTES)
  bytes.writeBigUInt64LE(BigInt(length))
  return bytes
}

function padded(length: number): number {
  return Math.ceil(length / ALIGNMENT_BYTES) * ALIGNMENT_BYTES
}

function typeOf(section: Section): keyof typeof ARRAYS {
  if (section instanceof Uint8Array) return 'u8'
  return section instanceof Uint16Array ? 'u16' : 'u32'
}

/** The arrays are used as they lie in the file; every machine that Node runs on today orders bytes this way. */
function mustBeLittleEndian(): void {
  if (endianness() !== 'LE') throw new StoreError('The name index needs a little-endian machine')
}
