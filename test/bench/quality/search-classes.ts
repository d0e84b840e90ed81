/** Parts of names as people type them into a search. Several companies can be a right answer to each. */
import { below, type Random } from '../../support/random.ts'
import { coreWords } from './names.ts'
import type { BenchCompany, ReferenceRegister } from './register.ts'

const LETTERS = /^\p{L}+$/u
const BRAND_LETTERS_MIN = 4
const PREFIX_LETTERS_MIN = 3
const UNSPACED_WORDS_MIN = 3

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

export function withoutSpaces(_random: Random, { name }: BenchCompany): string | undefined {
  const words = coreWords(name)
  return words.length < UNSPACED_WORDS_MIN ? undefined : words.join('')
}
