/** Compares a query with a legal name: strict, relaxed, or joined (the same letters). */
import { joinedKey } from '../../../store/index/name-keys.ts'
import { normaliseText, normaliseWords, parseName } from '../../../store/index/normalise-name.ts'
import { isNumeral } from '../../../store/index/spelling.ts'
import { splitAttachedSuffix, type ParsedName } from '../../../store/index/suffixes.ts'
import { nameBeforeNotes, type QueryName } from '../../operation/typed-name.ts'

/**
 * Strict: the normalised names are equal. Relaxed: the words are equal, and the legal forms are of one class or the
 * query has none. A query with a legal form never equals a name without one.
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

/** The words with "the" before them, or without it. */
export function withOtherArticle(words: readonly string[]): readonly string[] {
  return words[0] === 'the' ? words.slice(1) : ['the', ...words]
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
