/**
 * Spelling similarity of words: 1 - edit distance / length of the longer word. The distance is the optimal string
 * alignment (insertion, deletion, substitution, transposition of adjacent letters) over UTF-16 code units.
 */

/** A word as a range of an array of code units. */
interface CodeUnits {
  readonly units: Uint16Array
  readonly start: number
  readonly length: number
}

export function toCodeUnits(text: string): CodeUnits {
  const units = new Uint16Array(text.length)
  for (let at = 0; at < text.length; at += 1) units[at] = text.charCodeAt(at)
  return { units, start: 0, length: text.length }
}

/** A 32-bit integer has one bit for each letter of a word. */
const COMPARED_LETTERS_MAX = 32

/** A short word with two edits is usually another word. */
export function maxEditDistance(length: number): number {
  if (length <= 1) return 0
  return length <= 4 ? 1 : 2
}

/** For each code unit, its positions in the first word as bits. Allocated once and cleared after each call. */
const positions = new Int32Array(0x10000)

/** The edit distance; `limit + 1` when it exceeds `limit` or a word is too long to compare. */
export function editDistance(one: CodeUnits, other: CodeUnits, limit: number): number {
  const isCompared = Math.max(one.length, other.length) <= COMPARED_LETTERS_MAX
  if (!isCompared || Math.abs(one.length - other.length) > limit) return limit + 1
  const end = one.start + one.length
  for (let at = one.start; at < end; at += 1) positions[one.units[at]!]! |= 1 << (at - one.start)
  const found = Math.min(bitDistance(one.length, other, limit), limit + 1)
  for (let at = one.start; at < end; at += 1) positions[one.units[at]!] = 0
  return found
}

/**
 * The distance of `positions` to a word, or more than `limit`. Computes a column of the matrix at once: each integer
 * has one bit per row (H. Hyyro, A Bit-Vector Algorithm for Computing Levenshtein and Damerau Edit Distances, 2003).
 * Search is slower with a loop over the cells (benchmark row `search`).
 */
function bitDistance(rows: number, { units, start, length }: CodeUnits, limit: number): number {
  if (rows === 0) return length
  const lastRow = 1 << (rows - 1)
  let distance = rows
  // Rows whose cell is one more or one less than the cell above, or equals the previous cell of its diagonal
  let rising = -1
  let falling = 0
  let diagonal = 0
  // Rows whose letter is that of the column
  let equal = 0
  for (let at = 0; at < length; at += 1) {
    const equalBefore = equal
    equal = positions[units[start + at]!]!
    const transposed = ((~diagonal & equal) << 1) & equalBefore
    diagonal = ((((equal & rising) + rising) | 0) ^ rising) | equal | falling | transposed
    const grown = falling | ~(diagonal | rising)
    const shrunk = diagonal & rising
    if (grown & lastRow) distance += 1
    else if (shrunk & lastRow) distance -= 1
    // Each of the remaining columns lowers the distance by one at most.
    if (distance - (length - 1 - at) > limit) return limit + 1
    const grownAbove = (grown << 1) | 1
    rising = (shrunk << 1) | ~(diagonal | grownAbove)
    falling = grownAbove & diagonal
  }
  return distance
}

/** 0 to 1; 0 when the edit distance exceeds `limit`. */
export function spellingSimilarity(one: CodeUnits, other: CodeUnits, limit: number): number {
  const found = editDistance(one, other, limit)
  return found > limit ? 0 : 1 - found / Math.max(one.length, other.length)
}

const EVERY_DIGIT = /[0-9]/g
const DIGIT_AMONG_LETTERS = /[0-9][^0-9]|[^0-9][0-9]/

/**
 * Whether the numbers in two words are equal, or one word has digits in place of letters: VENTURE5 for VENTURES. A
 * number that is only added is another name.
 */
export function haveCompatibleNumbers(one: string, other: string): boolean {
  const [oneNumber, otherNumber] = [extractNumber(one), extractNumber(other)]
  if (oneNumber === otherNumber) return true
  if (oneNumber !== '' && otherNumber !== '') return false
  const withDigits = oneNumber === '' ? other : one
  return DIGIT_AMONG_LETTERS.test(withDigits) && one.replace(EVERY_DIGIT, '') !== other.replace(EVERY_DIGIT, '')
}

/** The letters that the digits from 0 to 9 resemble. */
const DIGITS_AS_LETTERS = 'oizeasgtbg'

/** The word with letters for its digits; undefined for a word without digits, or of digits only. */
export function withLettersForDigits(word: string): string | undefined {
  return DIGIT_AMONG_LETTERS.test(word)
    ? word.replace(EVERY_DIGIT, (digit) => DIGITS_AS_LETTERS[Number(digit)]!)
    : undefined
}

export function isNumeral(word: string): boolean {
  return extractNumber(word) !== ''
}

const ROMAN_NUMERAL = /^(?=..)c{0,3}(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})$/
const EVERY_OTHER = /[^0-9]+/g

/** The number in a word: a Roman numeral of two letters or more, otherwise its digits. */
export function extractNumber(word: string): string {
  return ROMAN_NUMERAL.test(word) ? word : word.replace(EVERY_OTHER, '')
}
