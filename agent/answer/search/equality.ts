/**
 * The possible readings of a query name. A legal name equals one of them strictly, or but for the notation of its legal
 * form.
 */
import { joinedKey } from '../../../store/index/name-keys.ts'
import { normaliseText, normaliseWords, parseName } from '../../../store/index/normalise-name.ts'
import { isNumeral } from '../../../store/index/spelling.ts'
import {
  isAmbiguousForm,
  splitAttachedSuffix,
  splitMisspeltSuffix,
  type ParsedName,
} from '../../../store/index/suffixes.ts'
import {
  markLostLetters,
  replaceWebAddress,
  restoreVowels,
  splitTextAfterForm,
  splitTradingName,
} from './query-text.ts'

/** A query name in the forms that exact comparison needs. */
export interface QueryName {
  /** The whole normalised name, legal form included. */
  normal: string
  /** In order of preference: a reading counts only if no name equals an earlier one. */
  readings: readonly [ParsedName, ...ParsedName[]]
  /** The name as similarity search reads it. */
  similar: ParsedName
  /** The numbers in the text after the legal form. */
  numbers: ReadonlySet<string>
}

/** Digits in the text after a name that may be a company number. */
const NUMBER = /\d{3,20}/g

export function parseQueryName(written: string): QueryName {
  const name = restoreVowels(written)
  const whole = parseName(name)
  const readings: [ParsedName, ...ParsedName[]] = [whole]
  // "Cnoc Sé" without its accent: the last word is part of the name.
  const words = normaliseWords(name)
  if (isAmbiguousForm(words, whole)) readings.push({ core: words, suffix: '' })
  const { before, after } = splitTextAfterForm(name)
  if (after !== '') readings.push(parseName(before))
  return { normal: words.join(' '), readings, similar: parseForSimilarity(name), numbers: new Set(after.match(NUMBER)) }
}

/**
 * Strict: the normalised names are equal. Relaxed: the words of a reading, and legal forms of one class or no legal
 * form in the query. A query with a legal form never equals a name without one.
 */
export function exactMatchType(
  { normal, readings }: QueryName,
  legalName: string,
  reading = readings[0],
): 'strict_name' | 'relaxed_name' | undefined {
  if (normal === normaliseText(legalName)) return 'strict_name'
  const legal = parseName(legalName)
  return hasSameForm(reading, legal) && reading.core.join(' ') === legal.core.join(' ') ? 'relaxed_name' : undefined
}

/** Whether a query with this legal form, or with none, can name a company with that form. */
export function hasSameForm(query: ParsedName, legal: ParsedName): boolean {
  return query.suffix === '' || query.suffix === legal.suffix
}

/** The words with "the" before them, or without it; undefined if nothing is left. */
export function withOtherArticle([first, ...rest]: readonly string[]): readonly string[] | undefined {
  if (first === undefined) return undefined
  if (first !== 'the') return ['the', first, ...rest]
  return rest.length > 0 ? rest : undefined
}

/** The readings in which a name may be written together or apart. */
export function joinedReadings({ readings, similar }: QueryName): ParsedName[] {
  return [...readings, similar].map(splitAttachedSuffix)
}

/** Whether the names differ only in spaces between words and in "and" (contract 12.11). */
export function isEqualWhenJoined(reading: ParsedName, legalName: string): boolean {
  const legal = parseName(legalName)
  if (!hasSameForm(reading, legal) || joinedKey(reading.core) !== joinedKey(legal.core)) return false
  return mayBeJoined(withoutAnd(reading.core), withoutAnd(legal.core))
}

/** Initials on both sides of an "and" are joined as if it were not there: "A & T" and "AT". */
function withoutAnd(words: readonly string[]): string[] {
  return words.includes('and') ? normaliseWords(words.filter((word) => word !== 'and').join(' ')) : [...words]
}

/** A shorter word is often made of initials: "GS PL" is not "GSPL". */
const JOINED_LETTERS_MIN = 5

/** Whether the words that are written together on one side may be: none is a single letter or has a number. */
function mayBeJoined(one: readonly string[], other: readonly string[]): boolean {
  return listDifferentParts(one, other).every(
    (words) =>
      words.every((word) => word.length > 1 && !isNumeral(word)) &&
      words.some(({ length }) => length >= JOINED_LETTERS_MIN),
  )
}

/**
 * Two lists of words with the same letters, in parts that begin and end at a space of both. Returns those that differ.
 */
function listDifferentParts(one: readonly string[], other: readonly string[]): string[][] {
  const parts: string[][] = []
  let [at, otherAt] = [0, 0]
  while (at < one.length && otherAt < other.length) {
    const part = [one[at++]!, other[otherAt++]!]
    let surplus = part[0]!.length - part[1]!.length
    while (surplus !== 0) {
      const word = surplus > 0 ? other[otherAt++]! : one[at++]!
      surplus -= Math.sign(surplus) * word.length
      part.push(word)
    }
    if (part.length > 2) parts.push(part)
  }
  return parts
}

/**
 * Parses a query name for similarity search: the domain of a web address, without the text after its legal form and
 * without a trading name. Recognises a misspelt legal form.
 */
export function parseForSimilarity(written: string): ParsedName {
  const name = markLostLetters(restoreVowels(written))
  const { before } = splitTextAfterForm(replaceWebAddress(name))
  return splitMisspeltSuffix(parseName(splitTradingName(before)))
}
