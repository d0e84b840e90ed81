/** The peers of a name search: what else one would take, on the same names and queries in the same run. */
import type { Product } from '../quality/product.ts'
import { parseOperation } from '../../../agent/operation/schema.ts'
import { RANKED, type Contender, type OpenContender } from './contender.ts'
import { openMiniSearch } from './minisearch.ts'
import { openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'

/** Opened one after the other and closed before the next, for two would share the memory and the processor's caches. */
export const PEERS: readonly OpenContender[] = [openPostgres, openSqlite, openMiniSearch]

/** The product's search with the text that a buyer sends. */
export function productContender(product: Product): Contender {
  return {
    name: 'this service',
    top(name) {
      const parsed = parseOperation('search', { q: name, limit: RANKED })
      if (!parsed.valid) return []
      return (product.search(parsed.operation) ?? []).map(({ number }) => number)
    },
    close: async () => undefined,
  }
}
