/**
 * The normaliser of names and addresses. Import and queries share it, so both agree on which names are equal:
 *
 *   NFKD, combining marks removed, lower case, `&`, `+` and `agus` to `and`, apostrophes removed, initials joined
 *   (`A.B.C.`, `A B C` and `ABC` are one word), `O` and `Mc` joined to the following surname, everything else that is
 *   not a letter or digit (trade mark signs included) to a space.
 *
 * A change requires a new MATCHING_VERSION and LAYOUT_VERSION.snapshot, because stored indexes use the old rules.
 */
import { FORM_BEGINNINGS, splitSuffix, type ParsedName } from './suffixes.ts'
import { TRADE_WORDS } from './trade-words.ts'

/** Most names match this and skip the slow Unicode normalisation (`bench perf`, row "import, CPU"). */
const PLAIN = /^[A-Za-z0-9 ]*$/

/** Vowels with a fada in UTF-8 that was decoded as Windows-1252, after NFKC. */
const MISREAD_VOWELS: readonly [RegExp, string][] = [
  [/Ã[¡\u0081]/gu, 'a'],
  [/Ã[©‰]/gu, 'e'],
  [/Ã[\u00AD\u008D]/gu, 'i'],
  [/Ã[³3“]/gu, 'o'],
  [/Ã[šºo]/gu, 'u'],
]

/** Letters that NFKD does not decompose. */
const UNDECOMPOSED_LETTER = /[ßæœøđðłþıς]/gu
const UNDECOMPOSED = new Map(
  Object.entries({ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ð: 'd', ł: 'l', þ: 'th', ı: 'i', ς: 'σ' }),
)

/** Before NFKD, which turns them into letters. */
const TRADE_MARK_SIGNS = /[™℠®©]/gu
/** After NFKD, which turns a spacing acute accent into a space and a combining one. */
const APOSTROPHES = /['’‘‛ʼ`′]| \u0301/gu
const MARKS = /\p{M}+/gu
const AND_SIGNS = /[&+]/gu
/** `T.J.`, `A.B.C`: single letters, each followed by a dot except possibly the last. */
const DOTTED_INITIALS = /(?<![\p{L}\p{N}])\p{L}(?:\.\p{L})+(?![\p{L}\p{N}])\.?/gu
const NEITHER_LETTER_NOR_DIGIT = /[^\p{L}\p{N}]+/gu

/** Prefixes that are part of the surname, whether written with or without a space. */
const SURNAME_PREFIXES: ReadonlySet<string> = new Set(['o', 'mc'])
/** A prefix is joined to a word of at least this length, as in O'Dea. */
const SURNAME_LETTERS_MIN = 3
/** The Irish word "sé" at the end of a name, which is not the legal form SE. */
const IRISH_SE = /(?<![\p{L}\p{N}])s(?:é|e\u0301)[^\p{L}\p{N}]*$/iu

export function normaliseWords(text: string): string[] {
  const words = foldCharacters(text).split(' ')
  return joinParts(words.filter((word) => word !== ''))
}

export function normaliseText(text: string): string {
  return normaliseWords(text).join(' ')
}

export function parseName(name: string, words = normaliseWords(name)): ParsedName {
  return IRISH_SE.test(name) ? { core: words, suffix: '' } : splitSuffix(words)
}

function foldCharacters(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase()
  let plain = text
  if (plain.includes('Ã')) for (const [misread, vowel] of MISREAD_VOWELS) plain = plain.replace(misread, vowel)
  return plain
    .replace(TRADE_MARK_SIGNS, ' ')
    .normalize('NFKD')
    .replace(APOSTROPHES, '')
    .replace(MARKS, '')
    .toLowerCase()
    .replace(UNDECOMPOSED_LETTER, (letter) => UNDECOMPOSED.get(letter) ?? letter)
    .replace(AND_SIGNS, ' and ')
    .replace(DOTTED_INITIALS, (initials) => `${initials.replaceAll('.', '')} `)
    .replace(NEITHER_LETTER_NOR_DIGIT, ' ')
}

function joinParts(words: readonly string[]): string[] {
  const joined: string[] = []
  const parts = joinInitials(words.map(withoutAgus))
  // From the end, so that in "Mc O Brien" the surname is complete before "Mc" is joined.
  for (const [at, word] of [...parts.entries()].toReversed()) {
    const next = joined.at(-1) ?? ''
    const isPrefix = SURNAME_PREFIXES.has(word) && isSurname(next) && !isOneOfTwoInitials(parts, at)
    if (isPrefix) joined[joined.length - 1] = word + next
    else joined.push(word)
  }
  return joined.toReversed()
}

/** As in "G and O". */
function isOneOfTwoInitials(words: readonly string[], at: number): boolean {
  return words[at - 1] === 'and' && isInitial(words[at]!) && isInitial(words[at - 2] ?? '')
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

/** In "P J O Brien" the O belongs to the surname, so there are two initials. */
function beginsSurname(words: readonly string[], at: number): boolean {
  return SURNAME_PREFIXES.has(words[at] ?? '') && isSurname(words[at + 1] ?? '')
}

function isSurname(word: string): boolean {
  if (word.length < SURNAME_LETTERS_MIN || !isLetter(word)) return false
  return word !== 'and' && !FORM_BEGINNINGS.has(word) && !TRADE_WORDS.has(word)
}

function withoutAgus(word: string): string {
  return word === 'agus' ? 'and' : word
}

function isInitial(word: string): boolean {
  return word.length === 1 && isLetter(word)
}

/** Letters have higher code units than digits. */
function isLetter(word: string): boolean {
  return word > '9'
}
