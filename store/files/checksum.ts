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

export function encodeWithChecksum(text: string): Buffer {
  const content = Buffer.from(text)
  return Buffer.concat([checksumOf(content), content])
}

/** @throws CorruptRecordError when the checksum does not match */
export function decodeWithChecksum(bytes: Buffer): string {
  const content = bytes.subarray(CHECKSUM_BYTES)
  if (!checksumOf(content).equals(bytes.subarray(0, CHECKSUM_BYTES)))
    throw new CorruptRecordError('A stored record does not match its checksum')
  return content.toString()
}

function checksumOf(content: Buffer): Buffer {
  return hash('sha256', content, 'buffer').subarray(0, CHECKSUM_BYTES)
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
