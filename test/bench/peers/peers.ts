/** Who takes part in a comparison of name searches: the product, and what else one would take. */
import { parseOperation } from '../../../agent/operation/schema.ts'
import type { SearchResponse } from '../../../agent/operation/result.ts'
import type { Shelf } from '../../../agent/skills/skill.ts'
import { prepareAnswer } from '../../../agent/skills/skills.ts'
import { RANKED, type Contender, type OpenContender } from './contender.ts'
import { openMiniSearch } from './minisearch.ts'
import { openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'

/** Opened one after the other and closed before the next, for two would share the memory and the processor's caches. */
export const PEERS: readonly OpenContender[] = [openPostgres, openSqlite, openMiniSearch]

/**
 * The product from the text that a buyer sends to the text that is sold: its input and output checks are in its times. A
 * search looks for similar names even where there is an equal one; a resolution doesn't.
 */
export function productContender(shelf: Shelf, operation: 'search' | 'resolve' = 'search'): Contender {
  return {
    name: operation === 'search' ? 'this service' : 'this service, resolve',
    top(name) {
      const parsed = parseOperation(operation, operation === 'search' ? { q: name, limit: RANKED } : { name })
      if (!parsed.valid) return []
      const prepared = prepareAnswer(parsed.operation, shelf)
      if (prepared.kind === 'refused') return []
      const { candidates } = JSON.parse(prepared.body) as Pick<SearchResponse, 'candidates'>
      return candidates.map(({ company }) => company.company_number)
    },
    close: async () => undefined,
  }
}
