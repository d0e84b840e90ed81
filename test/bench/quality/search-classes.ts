/** Parts of names as people type them into a search. Several companies can be a right answer to each. */
import { below, type Random } from '../../support/random.ts'
import { coreWords } from './names.ts'
import type { BenchCompany, ReferenceRegister } from './register.ts'

const LETTERS = /^\p{L}+$/u
const BRAND_LETTERS_MIN = 4
const PREFIX_LETTERS_MIN = 3
const UNSPACED_WORDS_MIN = 3
const INITIALS = { min: 3, max: 8 }

/** The rarest word of the name. */
export function brandOnly(_random: Random, { name }: BenchCompany, register: ReferenceRegister): string | undefined {
  const words = coreWords(name).filter((word) => LETTERS.test(word) && word.length >= BRAND_LETTERS_MIN)
  const uses = (word: string) => register.find('word', word).length
  return words.toSorted((one, other) => uses(one) - uses(other))[0]
}

/** The name with only the first letters of its last word. */
export function lastWordCut(random: Random, { name }: BenchCompany): string | undefined {
  const words = coreWords(name)
  const last = words.at(-1) ?? ''
  if (words.length < 2 || !LETTERS.test(last) || last.length <= PREFIX_LETTERS_MIN) return undefined
  const length = PREFIX_LETTERS_MIN + below(random, last.length - PREFIX_LETTERS_MIN)
  return [...words.slice(0, -1), last.slice(0, length)].join(' ')
}

/** The first word and the first two letters of the second one. */
export function firstWordAndTwoLetters(_random: Random, { name }: BenchCompany): string | undefined {
  const [first = '', second = ''] = coreWords(name)
  const isLong = LETTERS.test(first) && first.length >= BRAND_LETTERS_MIN && LETTERS.test(second) && second.length > 2
  return isLong ? `${first} ${second.slice(0, 2)}` : undefined
}

export function withoutSpaces(_random: Random, { name }: BenchCompany): string | undefined {
  const words = coreWords(name)
  return words.length < UNSPACED_WORDS_MIN ? undefined : words.join('')
}

export function initialsOnly(_random: Random, { name }: BenchCompany): string | undefined {
  const initials = coreWords(name)
    .map((word) => word.charAt(0))
    .join('')
  return LETTERS.test(initials) && initials.length >= INITIALS.min && initials.length <= INITIALS.max
    ? initials
    : undefined
}
