/** Typing errors of six kinds. */
import { below, pick, type Random } from '../../support/random.ts'
import { fold } from './names.ts'

const ALPHABET = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ')
/** Rows of a QWERTY keyboard. */
const KEYBOARD = ['QWERTYUIOP', 'ASDFGHJKL', 'ZXCVBNM']
/** A typo that does not change the normalised name is discarded. A short name may have no other. */
const ATTEMPTS_MAX = 20
/** With fewer letters, a typo leaves an unrelated name. */
const LETTERS_MIN = 3

/** Changes the letters at position `at`, which is a letter. */
type Slip = (letters: string[], at: number, random: Random) => string[]

const replaced = (letters: string[], at: number, ...others: string[]) => letters.toSpliced(at, 1, ...others)

const SLIPS: readonly Slip[] = [
  (letters, at, random) => replaced(letters, at, pick(random, ALPHABET)),
  (letters, at, random) => letters.toSpliced(at + below(random, 2), 0, pick(random, ALPHABET)),
  (letters, at) => letters.toSpliced(at, 1),
  (letters, at) => transposed(letters, at),
  (letters, at, random) => replaced(letters, at, neighbour(letters[at] ?? '', random)),
  // A doubled letter.
  (letters, at) => replaced(letters, at, letters[at] ?? '', letters[at] ?? ''),
]

/** One typo at any letter; undefined for a text with too few letters. */
export function withTypo(random: Random, text: string): string | undefined {
  const letters = Array.from(text)
  const positions = letters.flatMap((letter, at) => (/\p{L}/u.test(letter) ? [at] : []))
  if (positions.length < LETTERS_MIN) return undefined
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const slip = pick(random, SLIPS)
    const slipped = slip(letters, pick(random, positions), random).join('')
    if (fold(slipped) !== fold(text)) return slipped
  }
  return undefined
}

export function withTwoTypos(random: Random, text: string): string | undefined {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const once = withTypo(random, text)
    const twice = once === undefined ? undefined : withTypo(random, once)
    // The second typo can be impossible or undo the first.
    if (twice !== undefined && fold(twice) !== fold(text)) return twice
  }
  return undefined
}

/** Digits that look like letters. */
const DIGITS = new Map(
  ['O0', 'I1', 'L1', 'S5', 'B8', 'G6', 'Z2', 'E3', 'A4', 'T7'].map(([letter = '', digit = '']) => [letter, digit]),
)

/** A digit for one letter of a word of five letters or more. */
export function withDigit(random: Random, text: string): string | undefined {
  const places = [...text.matchAll(/\p{L}{5,}/gu)].flatMap(({ 0: word, index }) =>
    Array.from(word).flatMap((letter, at) => (DIGITS.has(letter) ? [index + at] : [])),
  )
  if (places.length === 0) return undefined
  const at = pick(random, places)
  return text.slice(0, at) + DIGITS.get(text.charAt(at)) + text.slice(at + 1)
}

function transposed(letters: string[], at: number): string[] {
  const [first, second] = letters.slice(at, at + 2)
  return first !== undefined && second !== undefined && /\p{L}/u.test(second)
    ? letters.toSpliced(at, 2, second, first)
    : letters
}

function neighbour(letter: string, random: Random): string {
  const row = KEYBOARD.find((keys) => keys.includes(letter.toUpperCase())) ?? ''
  const at = row.indexOf(letter.toUpperCase())
  const neighbours = [row[at - 1], row[at + 1]].filter((key) => key !== undefined)
  return at === -1 ? letter : pick(random, neighbours)
}
