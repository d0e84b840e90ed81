/** Finds the companies whose names equal a query name (contract 12.1). */
import type { Company } from '../../store/company.ts'
import { findExactNames } from '../../store/index/candidates.ts'
import type { QueryBudgets } from '../../store/index/operation-budget.ts'
import { exactMatchType, type QueryName } from './equality.ts'
import { readCompany, type Register } from './register.ts'

interface EqualName {
  company: Company
  exact: 'strict_name' | 'relaxed_name'
}

/** By position in the name index. When a budget is exceeded, names are missing. */
export type EqualNames = Map<number, EqualName>

export function findEqualNames(
  register: Register,
  query: QueryName,
  { accepts, budgets }: { accepts: (name: number) => boolean; budgets: QueryBudgets },
): EqualNames {
  const equal: EqualNames = new Map()
  for (const name of findExactNames(register.names, query.core, budgets.postings).filter(accepts)) {
    if (!budgets.records.take(1)) break
    const company = readCompany(register, name)
    const exact = exactMatchType(query, company.legal_name)
    if (exact !== undefined) equal.set(name, { company, exact })
  }
  return equal
}
