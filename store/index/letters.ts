/** Letter sets of words as bit masks: one edit removes at most one letter and adds at most one. */

/** The most frequent letters in names. Words of one length are grouped by which of these they contain. */
const COMMON_LETTERS = 'eairnotlsucd'

const LETTER_A = 'a'.charCodeAt(0)
const LETTERS = 26
const OTHER_BITS = 32 - LETTERS

/** One bit per letter from a to z; digits and other alphabets share the remaining six. */
function bitOf(unit: number): number {
  const letter = unit - LETTER_A
  return 1 << (letter >= 0 && letter < LETTERS ? letter : LETTERS + (unit % OTHER_BITS))
}

const COMMON_MASK = Array.from(COMMON_LETTERS).reduce((mask, letter) => mask | bitOf(letter.charCodeAt(0)), 0)

/** The letters that occur at least once, and at least twice. */
interface LetterMasks {
  once: number
  twice: number
}

export function letterMasks(units: Uint16Array, start: number, length: number): LetterMasks {
  let once = 0
  let twice = 0
  for (let at = start; at < start + length; at += 1) {
    const bit = bitOf(units[at]!)
    twice |= once & bit
    once |= bit
  }
  return { once, twice }
}

/** The group of a word among the words of its length. Unsigned, so that groups can be sorted. */
export function commonLetters(once: number): number {
  return (once & COMMON_MASK) >>> 0
}

/** Whether two letter sets prove an edit distance above `limit`. Clears one bit per allowed edit. */
export function lettersDiffer(one: number, other: number, limit: number): boolean {
  let removed = one & ~other
  let added = other & ~one
  for (let edit = 0; edit < limit; edit += 1) {
    removed &= removed - 1
    added &= added - 1
  }
  return (removed | added) !== 0
}

/** Like `lettersDiffer`, but also compares repeated letters. Search is slower without it (benchmark row `search`). */
export function letterCountsDiffer(one: LetterMasks, other: LetterMasks, limit: number): boolean {
  const removed = bitCount(one.once & ~other.once) + bitCount(one.twice & ~other.twice)
  const added = bitCount(other.once & ~one.once) + bitCount(other.twice & ~one.twice)
  return removed > limit || added > limit
}

/** Population count (H. S. Warren, Hacker's Delight, 5-1). */
function bitCount(bits: number): number {
  const pairs = bits - ((bits >>> 1) & 0x55555555)
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return (((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f) * 0x01010101) >>> 24
}
