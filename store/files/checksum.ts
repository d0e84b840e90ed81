/** Stores a text after its checksum. Decoding returns exactly the text that was encoded, or throws. */
import { hash } from 'node:crypto'

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

/** The result of `read`, or undefined if it throws a {@link CorruptRecordError}. */
export function undefinedIfCorrupt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (cause) {
    if (cause instanceof CorruptRecordError) return undefined
    throw cause
  }
}
