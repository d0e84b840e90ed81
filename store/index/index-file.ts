/**
 * The file format of a name index: named integer arrays with a checksum, read into memory at once and used in place.
 *
 *   8 bytes   length of the header, little endian
 *   header    JSON: { facts, sections: { name: [type, byte offset, length] } }
 *   arrays    each at a multiple of 8 bytes, little endian
 *   32 bytes  SHA-256 of everything before
 */
import { createHash, hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import * as z from 'zod'
import { StoreError } from '../files/environment.ts'

const HEADER_LENGTH_BYTES = 8
const CHECKSUM_BYTES = 32
const ALIGNMENT_BYTES = 8

const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array } as const

type Section = Uint8Array | Uint16Array | Uint32Array

const headerSchema = z.strictObject({
  facts: z.unknown(),
  sections: z.record(z.string(), z.tuple([z.enum(['u8', 'u16', 'u32']), z.int().nonnegative(), z.int().nonnegative()])),
})

export interface IndexParts {
  facts: unknown
  sections: Record<string, Section>
}

/** Writes a new file and syncs it. Throws `EEXIST` when the file exists. */
export async function writeIndexFile(path: string, { facts, sections }: IndexParts): Promise<void> {
  let offset = 0
  const layout: z.infer<typeof headerSchema>['sections'] = {}
  for (const [name, section] of Object.entries(sections)) {
    layout[name] = [typeOf(section), offset, section.length]
    offset += padded(section.byteLength)
  }
  const header = Buffer.from(JSON.stringify({ facts, sections: layout }))
  const checksum = createHash('sha256')
  await using file = await open(path, 'wx')
  const write = async (bytes: Uint8Array) => {
    checksum.update(bytes)
    await file.writeFile(bytes)
    const padding = Buffer.alloc(padded(bytes.length) - bytes.length)
    checksum.update(padding)
    await file.writeFile(padding)
  }
  await write(new Uint8Array(BigUint64Array.of(BigInt(header.length)).buffer))
  await write(header)
  for (const { buffer, byteOffset, byteLength } of Object.values(sections))
    await write(new Uint8Array(buffer, byteOffset, byteLength))
  await file.writeFile(checksum.digest())
  await file.sync()
}

function parseIndexFile(bytes: ArrayBuffer, path: string): IndexParts {
  const all = new Uint8Array(bytes)
  const end = all.length - CHECKSUM_BYTES
  const damaged = (cause?: unknown) => new StoreError(`${path} is not a name index or is damaged`, { cause })
  const isLong = end >= HEADER_LENGTH_BYTES
  if (!isLong || !hash('sha256', all.subarray(0, end), 'buffer').equals(all.subarray(end))) throw damaged()
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

/** Throws {@link StoreError} when the checksum or the structure is wrong. */
export function readIndexFile(path: string): IndexParts {
  const { buffer, byteOffset, byteLength } = readFileSync(path)
  // Node reads a small file into a buffer that is shared with other data.
  const isWhole = byteOffset === 0 && byteLength === buffer.byteLength
  return parseIndexFile(isWhole ? buffer : buffer.slice(byteOffset, byteOffset + byteLength), path)
}

/** Whether the file exists and its checksum is right. Streams the file, because the service does not wait for it. */
export async function isIntactIndexFile(path: string): Promise<boolean> {
  const { size } = await stat(path).catch(() => ({ size: 0 }))
  if (size < HEADER_LENGTH_BYTES + CHECKSUM_BYTES) return false
  await using file = await open(path)
  const content = createHash('sha256')
  for await (const chunk of file.createReadStream({ end: size - CHECKSUM_BYTES - 1, autoClose: false }))
    content.update(chunk)
  const { buffer } = await file.read({ buffer: Buffer.alloc(CHECKSUM_BYTES), position: size - CHECKSUM_BYTES })
  return content.digest().equals(buffer)
}

function padded(length: number): number {
  return Math.ceil(length / ALIGNMENT_BYTES) * ALIGNMENT_BYTES
}

function typeOf(section: Section): keyof typeof ARRAYS {
  return `u${section.BYTES_PER_ELEMENT * 8}` as keyof typeof ARRAYS
}
