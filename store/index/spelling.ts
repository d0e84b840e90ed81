/**
 * How alike two words are spelt: 1 less the edits between them per letter of the longer one (optimal string alignment:
 * insertion, deletion, substitution, transposition of neighbours). Words are runs of UTF-16 code units in one array.
 */

/** A word in an array of code units. */
export interface Letters {
  readonly units: Uint16Array
  readonly start: number
  readonly length: number
}

export function lettersOf(text: string): Letters {
  const units = new Uint16Array(text.length)
  for (let at = 0; at < text.length; at += 1) units[at] = text.charCodeAt(at)
  return { units, start: 0, length: text.length }
}

/** Longer words are not compared; the register's longest has 45. */
const COMPARED_LETTERS_MAX = 64

/** Short words have few neighbours that mean the same, long ones many. */
const EDITS_BY_LENGTH: readonly [lengthMax: number, edits: number][] = [
  [1, 0],
  [4, 1],
  [Number.POSITIVE_INFINITY, 2],
]

/** Edits within which a word of this length may stand for another. */
export function editsAllowed(length: number): number {
  return EDITS_BY_LENGTH.find(([lengthMax]) => length <= lengthMax)?.[1] ?? 0
}

const ROW = COMPARED_LETTERS_MAX + 1
let beforeLast = new Uint8Array(ROW)
let last = new Uint8Array(ROW)
let current = new Uint8Array(ROW)

/** Edits between two words; `limit + 1` when there are more than `limit`, or either is too long to compare. */
export function edits(one: Letters, other: Letters, limit: number): number {
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
    const free = beforeLast
    beforeLast = last
    last = current
    current = free
  }
  const found = last[columns]!
  return found > limit ? limit + 1 : found
}

/** How alike two words are, from 0 to 1: 0 when they are further apart than their length allows. */
export function spellingSimilarity(one: Letters, other: Letters, limit: number): number {
  const found = edits(one, other, limit)
  return found > limit ? 0 : 1 - found / Math.max(one.length, other.length)
}

const ROMAN_NUMERAL = /^(?=..)c{0,3}(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})$/
const NOT_A_DIGIT = /[^0-9]+/g

/**
 * What a word numbers: a Roman numeral of two letters or more whole, otherwise its digits. Words that number differently
 * are never misspellings of each other: "No 57" is not "No 58", "II" not "III".
 */
export function numeralOf(word: string): string {
  return ROMAN_NUMERAL.test(word) ? word : word.replace(NOT_A_DIGIT, '')
}
