/** Whether two names are equal, and by which rule (decisions: `strict_name`, `relaxed_name`). */
import { normalText, parseName } from '../../store/index/names.ts'
import { splitMisspeltSuffix, type ParsedName } from '../../store/index/suffixes.ts'

/** A name that is asked for, in the forms it is compared in. */
export interface AskedName extends ParsedName {
  /** All of it, in normal form. */
  normal: string
}

/** What follows is the name a company trades under, which the register's names don't hold. */
const TRADING_AS = /\s(?:t\s?\/\s?a|trading as)\s/i

export function readName(name: string): AskedName {
  return { normal: normalText(name), ...parseName(name) }
}

/**
 * Strict: the normal forms are the same. Relaxed: the same words, and either legal forms of one class or none asked for.
 * A query that has a legal form never equals a name that has none.
 */
export function equalityOf(asked: AskedName, legalName: string): 'strict_name' | 'relaxed_name' | undefined {
  const held = readName(legalName)
  if (asked.normal === held.normal) return 'strict_name'
  const isSameSuffix = asked.suffix === '' || asked.suffix === held.suffix
  return isSameSuffix && asked.core.join(' ') === held.core.join(' ') ? 'relaxed_name' : undefined
}

/**
 * A name as similar ones are looked for: without a trading name behind it, and with a legal form that is recognised though
 * it is misspelt. What was mended so makes a name similar, never equal.
 */
export function readForSimilarity(name: string): ParsedName {
  return splitMisspeltSuffix(parseName(name.split(TRADING_AS, 1)[0] ?? name))
}
