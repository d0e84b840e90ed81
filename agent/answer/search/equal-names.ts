/** Finds the companies whose names equal a query name, or have its letters (contract 12.1, 12.10, 12.11). */
import type { Company } from '../../../store/dataset/company.ts'
import { namesWithAll } from '../../../store/index/candidates.ts'
import { equivalentsOf } from '../../../store/index/equivalents.ts'
import { parseName, normaliseText, normaliseWords } from '../../../store/index/normalise-name.ts'
import type { OperationBudget, QueryBudgets } from '../../../store/index/operation-budget.ts'
import { type ParsedName, splitAttachedSuffix, withoutLeadingForm } from '../../../store/index/suffixes.ts'
import { explain, type KnownEvidence } from './explained-words.ts'
import type { QueryName } from './typed-name.ts'
import { readCompany, type Register } from './register.ts'
import { joinedKey } from '../../../store/index/name-keys.ts'
import { isNumeral } from '../../../store/index/spelling.ts'

interface EqualName {
  company: Company
  exact: 'strict_name' | 'relaxed_name'
}

/**
 * The companies that equal one of the names, by position. Without one, a name that differs in "the" at its beginning,
 * or in "co" for "company" at its end, is equal if no other name of the snapshot has these words (contract 12.6). When
 * a budget is exceeded, names are missing.
 */
export function findEqualNames(
  register: Register,
  query: QueryName,
  names: readonly ParsedName[],
  { accepts, budgets }: { accepts: (position: number) => boolean; budgets: QueryBudgets },
): ReadonlyMap<number, EqualName> {
  const equal = new Map<number, EqualName>()
  const add = (position: number, exactOf: (legalName: string) => EqualName['exact'] | undefined) => {
    if (!accepts(position) || !budgets.records.take(1)) return
    const company = readCompany(register, position)
    const exact = exactOf(company.legal_name)
    if (exact !== undefined) equal.set(position, { company, exact })
  }
  for (const position of new Set(names.flatMap(({ core }) => register.names.findExact(core))))
    add(position, (legalName) => exactMatchType(query, legalName, names))
  if (equal.size > 0) return equal
  for (const each of names) {
    const [position, ...others] = withOtherWords(each.core)
      .flatMap((words) => register.names.findExact(words))
      .filter((found) => found !== register.withheld)
    if (position !== undefined && others.length === 0)
      add(position, (legalName) => (hasSameForm(each, parseName(legalName)) ? 'relaxed_name' : undefined))
  }
  return equal
}

const COMPANY_WORDS = new Map(Object.entries({ co: 'company', company: 'co' }))

/** The words as they are, with and without "the", and with the other notation of "company". */
function withOtherWords(core: readonly string[]): (readonly string[])[] {
  const other = core.length > 1 ? COMPANY_WORDS.get(core.at(-1) ?? '') : undefined
  return [core, ...(other === undefined ? [] : [[...core.slice(0, -1), other]])].flatMap((words) => [
    words,
    // "The The X" has a word too many.
    words[0] !== 'the' ? ['the', ...words] : words[1] === 'the' ? words : words.slice(1),
  ])
}

/** Two names are enough to know that the letters do not belong to one company. */
const SAME_LETTERS_MAX = 2

/** The first names of the snapshot, live or dissolved, with exactly the letters and digits of the query. */
export function findNamesWithLetters({ names, withheld }: Register, query: QueryName): ReadonlySet<number> {
  const keys = joinedNames(query).flatMap(({ core }) => {
    const key = joinedKey(core)
    // In a name without spaces, "and" is not a word.
    return core.length === 1 ? [key, key.replace('and', '')] : [key]
  })
  const others = (key: string) => names.findJoined(key).filter((position) => position !== withheld)
  return new Set([...new Set(keys)].flatMap((key) => others(key).slice(0, SAME_LETTERS_MAX)))
}

/**
 * The registered names that consist of this name and words of the text: `Bed Res Ireland Limited` for `Bed Res Ltd
 * (Ireland)`. None when the budget is exceeded.
 */
export function findSiblings(
  { names, withheld }: Register,
  { core, suffix }: ParsedName,
  { text, budget }: { text: readonly string[]; budget: OperationBudget },
): number[] {
  const words = core.map((word) => names.dictionary.find(word) ?? -1)
  if (text.length === 0 || words.includes(-1)) return []
  return Array.from(namesWithAll(names, [...new Set(words)], budget) ?? []).filter((position) => {
    const all = names.words(position)
    if (position === withheld || all.length <= words.length || words.some((word, at) => all[at] !== word)) return false
    const more = withoutLeadingForm(names.texts(position).slice(core.length), suffix)
    const isRun = ` ${text.join(' ')} `.includes(` ${more.join(' ')} `)
    return more.length > 0 && (isRun || (more.length === 1 && text.some((word) => equivalentsOf(word).has(more[0]!))))
  })
}

/**
 * Returns a check whether a similar name can be another company: nothing explains a word of the query, another name has
 * its letters, or another name consists of this one and words around it.
 */
export function doubtOf(
  register: Register,
  query: QueryName,
  { known, budgets: { postings: budget } }: { known: KnownEvidence; budgets: QueryBudgets },
): (position: number) => boolean {
  const { names } = register
  const { around } = query
  // Similarity compares the text before an introduced name, with and without a legal form.
  const text = { ...around, hasForm: true }
  const sameLetters = findNamesWithLetters(register, query)
  const nameOf = (position: number) => ({ core: names.texts(position), suffix: names.suffixOf(position) })
  return (position) =>
    [...sameLetters].some((other) => other !== position) ||
    (!around.isEmpty && explain(register, readCompany(register, position), text, known) === 'none') ||
    findSiblings(register, nameOf(position), { text: around.words, budget }).length > 0
}

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

/** Forms of other countries, and of partnerships: "Brenner GmbH" is not BRENNER GMBH LIMITED. */
const FOREIGN_FORM = /^(?:ab|ag|as|bv|corp|gmbh|inc|incorporated|kg|llc|lp|nv|oy|pty|sa|sarl|sas|srl)$/

/** Whether a query can name a company with the form of `legal`: it has this form, or none, Irish or foreign. */
export function hasSameForm({ core, suffix }: ParsedName, legal: ParsedName): boolean {
  return suffix === legal.suffix || (suffix === '' && !FOREIGN_FORM.test(core.at(-1) ?? ''))
}

/** The name as it can be written together or apart. */
export function joinedNames(query: QueryName): ParsedName[] {
  const { whole, named, similar } = query
  return [...whole, ...(named ? [named] : []), similar].map(splitAttachedSuffix)
}

/** Whether the names differ only in spaces and an inner "and" (contract 12.11). "AT+" is not "AT". */
export function isEqualWhenJoined(reading: ParsedName, legalName: string): boolean {
  const legal = parseName(legalName)
  if (!hasSameForm(reading, legal) || joinedKey(reading.core) !== joinedKey(legal.core)) return false
  if ([0, -1].some((end) => (reading.core.at(end) === 'and') !== (legal.core.at(end) === 'and'))) return false
  return mayBeJoined(withoutAnd(reading.core), withoutAnd(legal.core))
}

/** Initials on both sides of an "and" are joined as if it were not there: "A & T" and "AT". */
function withoutAnd(words: readonly string[]): string[] {
  return words.includes('and') ? normaliseWords(words.filter((word) => word !== 'and').join(' ')) : [...words]
}

/** A shorter word is often made of initials: "GS PL" is not "GSPL". */
export const JOINED_LETTERS_MIN = 5

/** Whether the words that only one name has may be written together: none is a single letter or has a number. */
function mayBeJoined(one: readonly string[], other: readonly string[]): boolean {
  const different = [...one.filter((word) => !other.includes(word)), ...other.filter((word) => !one.includes(word))]
  return (
    different.every((word) => word.length > 1 && !isNumeral(word)) &&
    (different.length === 0 || different.some(({ length }) => length >= JOINED_LETTERS_MIN))
  )
}
