/**
 * Which letters a word has, as bits: what tells without measuring that two words are too many edits apart. An edit takes
 * at most one letter away and adds at most one, so each word may lack at most as many of the other's bits.
 */

/** The letters that names have most often, and so tell most: what words of one length are grouped by. */
const COMMON_LETTERS = 'eairnotlsucd'

const LETTER_A = 'a'.charCodeAt(0)
const LETTERS = 26
const OTHER_BITS = 32 - LETTERS

/** A bit for every letter from a to z; digits and other alphabets share the six that are left. */
function bitOf(unit: number): number {
  const letter = unit - LETTER_A
  return 1 << (letter >= 0 && letter < LETTERS ? letter : LETTERS + (unit % OTHER_BITS))
}

const COMMON_MASK = Array.from(COMMON_LETTERS).reduce((mask, letter) => mask | bitOf(letter.charCodeAt(0)), 0)

/** The letters that occur, and those that occur more than once. */
export interface LetterMasks {
  once: number
  twice: number
}

/** Of the code units from `start` on. */
export function masksOf(units: Uint16Array, start: number, length: number): LetterMasks {
  let once = 0
  let twice = 0
  for (let at = start; at < start + length; at += 1) {
    const bit = bitOf(units[at]!)
    twice |= once & bit
    once |= bit
  }
  return { once, twice }
}

/** The group of a word among those of its length: its common letters. Positive, so that groups can be ordered. */
export function groupOf(once: number): number {
  return (once & COMMON_MASK) >>> 0
}

/** Whether two groups, or two words by their letters alone, are surely more than `limit` edits apart. */
export function areApart(one: number, other: number, limit: number): boolean {
  let lost = one & ~other
  let added = other & ~one
  for (let edit = 0; edit < limit; edit += 1) {
    lost &= lost - 1
    added &= added - 1
  }
  return (lost | added) !== 0
}

/** The same with repeated letters counted, which is sharper and dearer. */
export function areSurelyApart(one: LetterMasks, other: LetterMasks, limit: number): boolean {
  const lost = bitCount(one.once & ~other.once) + bitCount(one.twice & ~other.twice)
  const added = bitCount(other.once & ~one.once) + bitCount(other.twice & ~one.twice)
  return lost > limit || added > limit
}

/** Bits that are set in 32 (H. S. Warren, Hacker's Delight, 5-1). */
function bitCount(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555)
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return (((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24
}
