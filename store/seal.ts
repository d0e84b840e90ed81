/** Sealed bytes: a value preceded by its own SHA-256, so that what is read is what was written or an error. */
import { hash } from 'node:crypto'

/** Half a SHA-256: a disk's flipped bits are not an attacker, and a million seals stay at 16 MB. */
const SEAL_BYTES = 16

class CorruptRecord extends Error {
  override name = 'CorruptRecord'
}

export function seal(value: Buffer): Buffer {
  return Buffer.concat([digest(value), value])
}

/** Returns the value of sealed bytes; throws {@link CorruptRecord} when the seal does not fit. */
export function unseal(bytes: Buffer): Buffer {
  const value = bytes.subarray(SEAL_BYTES)
  if (!digest(value).equals(bytes.subarray(0, SEAL_BYTES)))
    throw new CorruptRecord('A stored record does not match its seal')
  return value
}

function digest(value: Buffer): Buffer {
  return hash('sha256', value, 'buffer').subarray(0, SEAL_BYTES)
}
