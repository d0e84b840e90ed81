/** Finds the companies whose names equal a query name (contract 12.1). */
import type { Company } from '../../store/company.ts'
import type { QueryBudgets } from '../../store/index/operation-budget.ts'
import { splitAttachedSuffix } from '../../store/index/suffixes.ts'
import { exactMatchType, isEqualWhenJoined, type QueryName } from './equality.ts'
import { readCompany, type Register } from './register.ts'

interface EqualName {
  company: Company
  exact: 'strict_name' | 'relaxed_name'
}

export interface EqualNames {
  /** By position in the name index. When a budget is exceeded, names are missing. */
  equal: Map<number, EqualName>
  /** The index of the reading that decides. The reading as joined words has the last index. */
  readingIndex: number
}

interface Limits {
  accepts: (name: number) => boolean
  budgets: QueryBudgets
}

/** The first reading that a name equals decides. Reading the words as joined comes last. */
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
  return { equal: findJoinedName(register, query, { accepts, budgets }), readingIndex: query.readings.length }
}

/** A name that is equal only when joined counts if no other name of the snapshot has the same joined words. */
function findJoinedName(
  register: Register,
  { readings }: QueryName,
  { accepts, budgets }: Limits,
): EqualNames['equal'] {
  for (const reading of readings) {
    const { core } = splitAttachedSuffix(reading)
    const [name, ...others] = register.names.findJoined(core, { except: register.withheld, namesMax: 2 })
    if (name === undefined) continue
    if (others.length > 0 || !accepts(name) || !budgets.records.take(1)) break
    const company = readCompany(register, name)
    if (!isEqualWhenJoined(reading, company.legal_name)) break
    return new Map([[name, { company, exact: 'relaxed_name' }]])
  }
  return new Map()
}
