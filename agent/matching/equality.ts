/** Parses query names and decides whether a legal name equals one, strictly or with another form of the legal suffix. */
import { normaliseText, parseName } from '../../store/index/normalise-name.ts'
import { splitMisspeltSuffix, type ParsedName } from '../../store/index/suffixes.ts'

/** A query name in the forms that exact comparison needs. */
export interface QueryName extends ParsedName {
  /** The whole normalised name, legal form included. */
  normal: string
}

/** Introduces a trading name, which the register does not hold. */
const TRADING_AS = /\s(?:t\s?\/\s?a|trading as)\s/i

export function parseQueryName(name: string): QueryName {
  return { normal: normaliseText(name), ...parseName(name) }
}

/**
 * Strict: the normalised names are equal. Relaxed: the same words, and legal forms of one class or no legal form in the
 * query. A query with a legal form never equals a name without one.
 */
export function exactMatchType(query: QueryName, legalName: string): 'strict_name' | 'relaxed_name' | undefined {
  const legal = parseQueryName(legalName)
  if (query.normal === legal.normal) return 'strict_name'
  const isSameSuffix = query.suffix === '' || query.suffix === legal.suffix
  return isSameSuffix && query.core.join(' ') === legal.core.join(' ') ? 'relaxed_name' : undefined
}

/**
 * Parses a query name for similarity search: drops a trading name and recognises a misspelt legal form. Exact comparison
 * does neither, because such a name is only similar to the registered one.
 */
export function parseForSimilarity(name: string): ParsedName {
  return splitMisspeltSuffix(parseName(name.split(TRADING_AS, 1)[0] ?? name))
}
