/** Finds the companies whose names equal a query name (contract 12.1). */
import type { Company } from '../../../store/dataset/company.ts'
import { parseName } from '../../../store/index/normalise-name.ts'
import type { QueryBudgets } from '../../../store/index/operation-budget.ts'
import {
  exactMatchType,
  hasSameForm,
  isEqualWhenJoined,
  joinedReadings,
  withOtherArticle,
  type QueryName,
} from './equality.ts'
import { readCompany, type Register } from './register.ts'

interface EqualName {
  company: Company
  exact: 'strict_name' | 'relaxed_name'
}

interface EqualNames {
  /** By position in the name index. When a budget is exceeded, names are missing. */
  equal: Map<number, EqualName>
  /** The index of the reading that decides. The reading with another article has the last index. */
  readingIndex: number
}

interface Limits {
  accepts: (name: number) => boolean
  budgets: QueryBudgets
}

/**
 * Tries the readings in order and stops at the first with an equal name. Adding or removing a leading "the" is tried
 * last.
 */
export function findEqualNames(register: Register, query: QueryName, { accepts, budgets }: Limits): EqualNames {
  for (const [at, reading] of query.readings.entries()) {
    const equal: EqualNames['equal'] = new Map()
    for (const name of register.names.findExact(reading.core).filter(accepts)) {
      if (!budgets.records.take(1)) break
      const company = readCompany(register, name)
      const exact = exactMatchType(query, company.legal_name, reading)
      if (exact !== undefined) equal.set(name, { company, exact })
    }
    if (equal.size > 0) return { equal, readingIndex: at }
  }
  return { equal: findWithOtherArticle(register, query, { accepts, budgets }), readingIndex: query.readings.length }
}

/**
 * A name that differs in "the" at its beginning is equal if no other name of the snapshot has these words (contract
 * 12.18).
 */
function findWithOtherArticle(
  register: Register,
  { readings }: QueryName,
  { accepts, budgets }: Limits,
): EqualNames['equal'] {
  for (const reading of readings) {
    const other = withOtherArticle(reading.core)
    if (other === undefined) continue
    const [name, ...others] = [reading.core, other]
      .flatMap((words) => register.names.findExact(words))
      .filter((each) => each !== register.withheld)
    if (name === undefined || others.length > 0) continue
    if (!accepts(name) || !budgets.records.take(1)) continue
    const company = readCompany(register, name)
    const legal = parseName(company.legal_name)
    // The only name has the words of the reading, and another legal form.
    if (!hasSameForm(reading, legal) || legal.core.join(' ') !== other.join(' ')) continue
    return new Map([[name, { company, exact: 'relaxed_name' }]])
  }
  return new Map()
}

/**
 * The name that differs only in spaces and "and", if no other name of the snapshot has the same letters (contract
 * 12.11). It is similar, not equal: two companies can differ in a space.
 */
export function findJoinedName(
  register: Register,
  query: QueryName,
  { accepts, budgets }: Limits,
): { name: number; company: Company } | undefined {
  for (const reading of joinedReadings(query)) {
    const [name, ...others] = register.names.findJoined(reading.core, { except: register.withheld, namesMax: 2 })
    if (name === undefined) continue
    if (others.length > 0 || !accepts(name) || !budgets.records.take(1)) return undefined
    const company = readCompany(register, name)
    return isEqualWhenJoined(reading, company.legal_name) ? { name, company } : undefined
  }
  return undefined
}
