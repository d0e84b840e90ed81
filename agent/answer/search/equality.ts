/**
 * A query as a name, parsed once, and its comparison with a legal name: equal strictly, equal but for the notation of
 * the legal form, or with the same letters.
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
import { findTypedNumbers, readTypedNumber, type TypedNumber, type TypedNumbers } from '../../operation/typed-number.ts'
import { restoreVowels, rewriteTypedText, unescapeText } from '../../operation/typed-text.ts'
import { splitTextBehindForm, splitTradingName, type TextBehindForm } from './text-behind-form.ts'

export interface QueryName {
  /** The whole text, normalised. */
  normal: string
  /** The whole text as a name. Two if its last word can be a legal form or a part of the name. */
  whole: readonly ParsedName[]
  /** The name before the text behind its legal form; undefined without such text. */
  named: ParsedName | undefined
  behind: TextBehindForm
  /** The name as similarity search reads it. */
  similar: ParsedName
  /** The number, if the text is nothing else. */
  number: TypedNumber | undefined
  numbers: TypedNumbers
}

const NOTHING: TextBehindForm = { words: [], distinguishing: [] }
/** The form as it is written most often when it is cut. */
const CUT_FORM = /(?<![\p{L}\p{N}])designated activity co(?![\p{L}\p{N}])\.?/iu

export function parseQueryName(written: string): QueryName {
  const text = restoreVowels(unescapeText(written))
  const words = normaliseWords(text)
  const whole = parseName(text)
  const isAmbiguous = isAmbiguousForm(words, whole)
  const name = findTypedNumbers(text).rest.replace(CUT_FORM, 'designated activity company')
  const { before, behind } = splitTextBehindForm(name)
  const similar = splitMisspeltSuffix(parseName(splitTradingName(rewriteTypedText(before))))
  return {
    normal: words.join(' '),
    // "Cnoc Sé" without its accent: the last word is part of the name.
    whole: isAmbiguous ? [whole, { core: words, suffix: '' }] : [whole],
    named: behind || name !== text ? parseName(before) : undefined,
    behind: behind ?? NOTHING,
    similar: { ...similar, core: [...similar.core, ...(behind?.distinguishing ?? [])] },
    number: readTypedNumber(text),
    numbers: findTypedNumbers(rewriteTypedText(text)),
  }
}

/**
 * Strict: the normalised names are equal. Relaxed: the words of a reading, and legal forms of one class or no legal
 * form in the query. A query with a legal form never equals a name without one.
 */
export function exactMatchType(
  { normal, whole }: QueryName,
  legalName: string,
  names: readonly ParsedName[] = whole,
): 'strict_name' | 'relaxed_name' | undefined {
  if (normal === normaliseText(legalName)) return 'strict_name'
  const legal = parseName(legalName)
  const isRelaxed = names.some((name) => hasSameForm(name, legal) && name.core.join(' ') === legal.core.join(' '))
  return isRelaxed ? 'relaxed_name' : undefined
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

/** The name that counts without the text behind its legal form; undefined if that text is a part of the name. */
export function nameBeforeNotes({ named, behind }: QueryName): ParsedName | undefined {
  return behind.distinguishing.length === 0 ? named : undefined
}

/** The name as it can be written together or apart. */
export function joinedNames(query: QueryName): ParsedName[] {
  const named = nameBeforeNotes(query)
  return [...query.whole, ...(named ? [named] : []), query.similar].map(splitAttachedSuffix)
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

/** Whether the words that only one name has may be written together: none is a single letter or has a number. */
function mayBeJoined(one: readonly string[], other: readonly string[]): boolean {
  const different = [...one.filter((word) => !other.includes(word)), ...other.filter((word) => !one.includes(word))]
  return (
    different.every((word) => word.length > 1 && !isNumeral(word)) &&
    (different.length === 0 || different.some(({ length }) => length >= JOINED_LETTERS_MIN))
  )
}
