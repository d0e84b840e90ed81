/** The readings of a query name, and which of them a legal name equals, strictly or with another form of the suffix. */
import { joinedKey } from '../../store/index/joined-names.ts'
import { normaliseText, normaliseWords, parseName } from '../../store/index/normalise-name.ts'
import {
  isAmbiguousForm,
  splitAttachedSuffix,
  splitMisspeltSuffix,
  type ParsedName,
} from '../../store/index/suffixes.ts'
import { splitTextAfterForm, splitTradingName } from './written-name.ts'

/** A query name in the forms that exact comparison needs. */
export interface QueryName {
  /** The whole normalised name, legal form included. */
  normal: string
  /** In order of preference: a reading counts only if no name equals an earlier one. */
  readings: readonly [ParsedName, ...ParsedName[]]
  /** The numbers in the text after the legal form. */
  numbers: ReadonlySet<string>
}

/** Digits in the text after a name that may be a company number. */
const NUMBER = /\d{3,20}/g

export function parseQueryName(name: string): QueryName {
  const whole = parseName(name)
  const readings: [ParsedName, ...ParsedName[]] = [whole]
  // "Cnoc Sé" without its accent: the last word is part of the name.
  const words = normaliseWords(name)
  if (isAmbiguousForm(words, whole)) readings.push({ core: words, suffix: '' })
  const { before, after } = splitTextAfterForm(name)
  if (after !== '') readings.push(parseName(before))
  return { normal: words.join(' '), readings, numbers: new Set(after.match(NUMBER)) }
}

/**
 * Strict: the normalised names are equal. Relaxed: the words of a reading, and legal forms of one class or no legal form in
 * the query. A query with a legal form never equals a name without one.
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

/** Like a relaxed match, but without "and" and without the spaces between words. */
export function isEqualWhenJoined(reading: ParsedName, legalName: string): boolean {
  const legal = parseName(legalName)
  const attached = splitAttachedSuffix(reading)
  return hasSameForm(attached, legal) && joinedKey(attached.core) === joinedKey(legal.core)
}

function hasSameForm(query: ParsedName, legal: ParsedName): boolean {
  return query.suffix === '' || query.suffix === legal.suffix
}

/**
 * Parses a query name for similarity search: drops the text after its legal form or a trading name, and recognises a
 * misspelt legal form.
 */
export function parseForSimilarity(name: string): ParsedName {
  const { before, after } = splitTextAfterForm(name)
  return splitMisspeltSuffix(parseName(after === '' ? splitTradingName(name) : before))
}
