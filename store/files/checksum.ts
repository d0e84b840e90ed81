/** Stores a text after its checksum. Decoding returns exactly the text that was encoded, or throws. */
import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'

/** Half of a SHA-256, to save space. It detects faults of the disk. It need not withstand an attacker. */
const CHECKSUM_BYTES = 16

/** The stored bytes are not the bytes that were written. */
export class CorruptRecordError extends Error {
  override name = 'CorruptRecordError'
}

/** @param owner what the text belongs to; it is part of the checksum and not stored */
export function encodeWithChecksum(text: string, owner = ''): Buffer {
  const bytes = Buffer.allocUnsafe(CHECKSUM_BYTES + Buffer.byteLength(text))
  bytes.write(text, CHECKSUM_BYTES)
  checksumOf(bytes.subarray(CHECKSUM_BYTES), owner).copy(bytes)
  return bytes
}

/** @throws CorruptRecordError when the checksum does not match */
export function decodeWithChecksum(bytes: Buffer, owner = ''): string {
  const content = bytes.subarray(CHECKSUM_BYTES)
  if (!checksumOf(content, owner).equals(storedChecksum(bytes)))
    throw new CorruptRecordError('A stored record does not match its checksum')
  return content.toString()
}

export const storedChecksum = (bytes: Buffer) => bytes.subarray(0, CHECKSUM_BYTES)

function checksumOf(content: Buffer, owner: string): Buffer {
  const owned = owner === '' ? content : Buffer.concat([Buffer.from(owner), content])
  return hash('sha256', owned, 'buffer').subarray(0, CHECKSUM_BYTES)
}

/** The SHA-256 of a file, as hexadecimal digits. */
export async function sha256Of(path: string): Promise<string> {
  const digest = createHash('sha256')
  await pipeline(createReadStream(path), digest)
  return digest.digest('hex')
}

/** The result of `read`, or undefined if it throws a {@link CorruptRecordError}. */
export function undefinedIfCorrupt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (cause) {
    if (cause instanceof CorruptRecordError) return undefined
    throw cause
  }
}
