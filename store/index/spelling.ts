/**
 * Spelling similarity of words: 1 - edit distance / length of the longer word. The distance is the optimal string alignment
 * (insertion, deletion, substitution, transposition of adjacent letters) over UTF-16 code units.
 */

/** A word as a range of an array of code units. */
export interface CodeUnits {
  readonly units: Uint16Array
  readonly start: number
  readonly length: number
}

export function toCodeUnits(text: string): CodeUnits {
  const units = new Uint16Array(text.length)
  for (let at = 0; at < text.length; at += 1) units[at] = text.charCodeAt(at)
  return { units, start: 0, length: text.length }
}

/** Longer words are not compared. The longest of the register has 45 letters. */
const COMPARED_LETTERS_MAX = 64

/** The edit distance within which a word of this length can match another. A short word with two edits is usually another word. */
export function maxEditDistance(length: number): number {
  if (length <= 1) return 0
  return length <= 4 ? 1 : 2
}

const ROW = COMPARED_LETTERS_MAX + 1
let beforeLast = new Uint8Array(ROW)
let last = new Uint8Array(ROW)
let current = new Uint8Array(ROW)

/** The edit distance; `limit + 1` when it exceeds `limit` or a word is too long to compare. */
export function editDistance(one: CodeUnits, other: CodeUnits, limit: number): number {
  const rows = one.length
  const columns = other.length
  if (Math.abs(rows - columns) > limit || Math.max(rows, columns) > COMPARED_LETTERS_MAX) return limit + 1
  for (let column = 0; column <= columns; column += 1) last[column] = column
  for (let row = 1; row <= rows; row += 1) {
    const unit = one.units[one.start + row - 1]
    const unitBefore = row > 1 ? one.units[one.start + row - 2] : -1
    let least = (current[0] = row)
    for (let column = 1; column <= columns; column += 1) {
      const otherUnit = other.units[other.start + column - 1]
      let cost = last[column - 1]! + (unit === otherUnit ? 0 : 1)
      const deleted = last[column]! + 1
      const inserted = current[column - 1]! + 1
      if (deleted < cost) cost = deleted
      if (inserted < cost) cost = inserted
      if (column > 1 && unit === other.units[other.start + column - 2] && unitBefore === otherUnit) {
        const transposed = beforeLast[column - 2]! + 1
        if (transposed < cost) cost = transposed
      }
      current[column] = cost
      if (cost < least) least = cost
    }
    if (least > limit) return limit + 1
    const reused = beforeLast
    beforeLast = last
    last = current
    current = reused
  }
  const found = last[columns]!
  return found > limit ? limit + 1 : found
}

/** 0 to 1; 0 when the edit distance exceeds `limit`. */
export function spellingSimilarity(one: CodeUnits, other: CodeUnits, limit: number): number {
  const found = editDistance(one, other, limit)
  return found > limit ? 0 : 1 - found / Math.max(one.length, other.length)
}

const ROMAN_NUMERAL = /^(?=..)c{0,3}(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})$/
const NOT_A_DIGIT = /[^0-9]+/g

/**
 * The number in a word: the whole word for a Roman numeral of two letters or more, otherwise its digits. Words with
 * different numbers are never spelling variants: "57" and "58", "II" and "III".
 */
export function extractNumber(word: string): string {
  return ROMAN_NUMERAL.test(word) ? word : word.replace(NOT_A_DIGIT, '')
}
