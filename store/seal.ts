/** Sealed bytes: a text preceded by its own SHA-256, so that what is read is what was written or an error. */
import { hash } from 'node:crypto'

/** Half a SHA-256: a disk's flipped bits are not an attacker, and a million seals stay at 16 MB. */
export const SEAL_BYTES = 16

/** What is on disk is not what was written. */
export class CorruptRecord extends Error {
  override name = 'CorruptRecord'
}

/** @param parts of one text, each as it is or in bytes */
export function seal(...parts: readonly (string | Buffer)[]): Buffer {
  let length = SEAL_BYTES
  for (const part of parts) length += Buffer.byteLength(part)
  const sealed = Buffer.allocUnsafe(length)
  let end = SEAL_BYTES
  for (const part of parts) end += typeof part === 'string' ? sealed.write(part, end) : part.copy(sealed, end)
  sealed.write(hash('sha256', sealed.subarray(SEAL_BYTES), 'binary'), 0, SEAL_BYTES, 'binary')
  return sealed
}

/** Returns the text of sealed bytes; throws {@link CorruptRecord} when the seal does not fit. */
export function unseal(bytes: Buffer): string {
  const text = bytes.subarray(SEAL_BYTES)
  // Hexadecimal digits are compared because of all forms a digest can have they are the quickest to make.
  if (hash('sha256', text).slice(0, 2 * SEAL_BYTES) !== bytes.toString('hex', 0, SEAL_BYTES))
    throw new CorruptRecord('A stored record does not match its seal')
  return text.toString()
}

/** Undefined for what is damaged. */
export function unlessCorrupt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (cause) {
    if (cause instanceof CorruptRecord) return undefined
    throw cause
  }
}
