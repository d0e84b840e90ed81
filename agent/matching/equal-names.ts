/** Finds the companies whose names equal a query name (contract 12.1). */
import type { Company } from '../../store/company.ts'
import { findExactNames } from '../../store/index/candidates.ts'
import { exactMatchType, type QueryName } from './equality.ts'
import { readCompany, type Register } from './register.ts'

/** Companies read for one name. In the register, few companies share a name. */
const EQUAL_NAMES_MAX = 500

interface EqualName {
  company: Company
  exact: 'strict_name' | 'relaxed_name'
}

export interface EqualNames {
  /** By position in the name index. */
  equal: Map<number, EqualName>
  /** Whether more companies have the words of the name than were read. */
  isTruncated: boolean
}

export function findEqualNames(register: Register, query: QueryName, accepts: (name: number) => boolean): EqualNames {
  const sameWords = findExactNames(register.names, query.core).filter(accepts)
  const equal = new Map<number, EqualName>()
  for (const name of sameWords.slice(0, EQUAL_NAMES_MAX)) {
    const company = readCompany(register, name)
    const exact = exactMatchType(query, company.legal_name)
    if (exact !== undefined) equal.set(name, { company, exact })
  }
  return { equal, isTruncated: sameWords.length > EQUAL_NAMES_MAX }
}
