/**
 * The only normaliser of names, used by the import and by queries, so that both sides mean the same by "equal":
 *
 *   NFKD, combining marks dropped (fadas, dotted lenition), lower case, `&`, `+` and `agus` to `and`, apostrophes
 *   removed, initials joined (`A.B.C.`, `A B C` and `ABC` are one word), `O` and `Mc` joined to the surname they begin,
 *   everything else that is no letter or digit to a space.
 *
 * Addresses go through the same, so that a fragment is found however it is written. Whatever changes here raises
 * MATCHING_VERSION, and LAYOUT_VERSION.snapshot, since indexes on disk were made by the old rule.
 */
import { beginsLegalForm, splitSuffix, type ParsedName } from './suffixes.ts'

/** What most names of the register consist of; they need none of the Unicode work. */
const PLAIN = /^[A-Za-z0-9 ]*$/

/** UTF-8 that was read as Windows-1252, of the vowels that carry a fada; as NFKC leaves it. */
const MISREAD_VOWELS: readonly [RegExp, string][] = [
  [/Ã[¡\u0081]/gu, 'a'],
  [/Ã[©‰]/gu, 'e'],
  [/Ã[\u00AD\u008D]/gu, 'i'],
  [/Ã[³3“]/gu, 'o'],
  [/Ã[šºo]/gu, 'u'],
]

/** Letters that NFKD leaves as they are although they are others in another shape. */
const WHOLE_LETTERS: readonly [RegExp, string][] = [
  [/ß/gu, 'ss'],
  [/æ/gu, 'ae'],
  [/œ/gu, 'oe'],
  [/ø/gu, 'o'],
  [/đ|ð/gu, 'd'],
  [/ł/gu, 'l'],
  [/þ/gu, 'th'],
  [/ı/gu, 'i'],
  [/ς/gu, 'σ'],
]

/** As NFKD leaves them; it makes a space with the accent on it of an acute accent that stands alone. */
const APOSTROPHES = /['’‘‛ʼ`′]| \u0301/gu
const MARKS = /\p{M}+/gu
const AND_SIGNS = /[&+]/gu
/** `T.J.`, `A.B.C`: letters that stand alone, each with a dot but perhaps the last. */
const DOTTED_INITIALS = /(?<![\p{L}\p{N}])\p{L}(?:\.\p{L})+(?![\p{L}\p{N}])\.?/gu
const NEITHER_LETTER_NOR_DIGIT = /[^\p{L}\p{N}]+/gu

/** Short for "descendant of": part of the surname, however it is spaced. */
const SURNAME_PREFIXES: ReadonlySet<string> = new Set(['o', 'mc'])
/** The shortest word that such a prefix is joined to: O'Dea. */
const SURNAME_LETTERS_MIN = 3

/** The words of a text in their normal form; none when it has no letter or digit. */
export function normalWords(text: string): string[] {
  const words = plainText(text).split(' ')
  return joinParts(words.filter((word) => word !== ''))
}

/** A text in its normal form, words separated by one space. */
export function normalText(text: string): string {
  return normalWords(text).join(' ')
}

export function parseName(name: string): ParsedName {
  return splitSuffix(normalWords(name))
}

/** Letters, digits and spaces, in lower case. */
function plainText(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase()
  let plain = text
  if (plain.includes('Ã')) for (const [misread, vowel] of MISREAD_VOWELS) plain = plain.replace(misread, vowel)
  plain = plain.normalize('NFKD').replace(APOSTROPHES, '').replace(MARKS, '').toLowerCase()
  for (const [letter, spelt] of WHOLE_LETTERS) plain = plain.replace(letter, spelt)
  return plain
    .replace(AND_SIGNS, ' and ')
    .replace(DOTTED_INITIALS, (initials) => `${initials.replaceAll('.', '')} `)
    .replace(NEITHER_LETTER_NOR_DIGIT, ' ')
}

/** Joins what spaces or dots have torn apart: runs of single letters, and the beginnings of surnames. */
function joinParts(words: readonly string[]): string[] {
  if (!words.some(mayJoin)) return words.slice()
  const joined: string[] = []
  // From the end, so that what a surname's beginning is joined to is whole by then.
  for (const word of joinInitials(words.map(withoutAgus)).toReversed()) {
    const next = joined.at(-1) ?? ''
    if (SURNAME_PREFIXES.has(word) && isSurname(next)) joined[joined.length - 1] = word + next
    else joined.push(word)
  }
  return joined.toReversed()
}

/** Few words of the register may, and most names have none. */
function mayJoin(word: string): boolean {
  return word.length === 1 || word === 'mc' || word === 'agus'
}

function joinInitials(words: readonly string[]): string[] {
  const joined: string[] = []
  for (let at = 0; at < words.length; at += 1) {
    let initials = ''
    while (isInitial(words[at] ?? '') && !(initials !== '' && beginsSurname(words, at))) initials += words[at++]
    if (initials === '') joined.push(words[at]!)
    else {
      joined.push(withoutAgus(initials))
      at -= 1
    }
  }
  return joined
}

/** "P J O Brien" has two initials: the O is the surname's. */
function beginsSurname(words: readonly string[], at: number): boolean {
  return SURNAME_PREFIXES.has(words[at] ?? '') && isSurname(words[at + 1] ?? '')
}

function isSurname(word: string): boolean {
  return word.length >= SURNAME_LETTERS_MIN && isLetter(word) && word !== 'and' && !beginsLegalForm(word)
}

function withoutAgus(word: string): string {
  return word === 'agus' ? 'and' : word
}

function isInitial(word: string): boolean {
  return word.length === 1 && isLetter(word)
}

/** Whether a word in normal form begins with a letter. */
function isLetter(word: string): boolean {
  return word > '9'
}
