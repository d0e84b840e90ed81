/** Search and resolve in this process, as the benchmarks of the search by name time them. */
import { prepareAnswer } from '../../../agent/answer/answers.ts'
import type { AnswerContext } from '../../../agent/answer/registers.ts'
import { parseOperation } from '../../../agent/operation/operation.ts'
import type { SearchResponse } from '../../../agent/operation/search.ts'
import { singleOf } from '../../support/operations.ts'

/** The numbers of the ten best companies for a name, best first. */
export type Search = (name: string) => readonly string[]

export const RANKED = 10

/** Queries before the measurement: after fewer, the slowest ones are those that the compiler has not optimised yet. */
const WARM_UP_QUERIES = 1_000
const WARM_UP_MS_MAX = 10_000

/** The ranking for each query, and its time in milliseconds. */
export function timed(search: Search, names: readonly string[]) {
  const end = performance.now() + WARM_UP_MS_MAX
  for (let at = 0; at < WARM_UP_QUERIES && performance.now() < end; at += 1) search(names[at % names.length] ?? '')
  const [rankings, times] = [[] as (readonly string[])[], [] as number[]]
  for (const name of names) {
    const began = performance.now()
    const ranking = search(name)
    times.push(performance.now() - began)
    rankings.push(ranking)
  }
  return { rankings, times }
}

/** The share of the ten best of an exhaustive ranking that were found; 1 if that ranking is empty. */
export function recall(found: readonly string[], best: readonly string[]): number {
  const wanted = Math.min(RANKED, best.length)
  const hits = found.slice(0, RANKED).filter((number) => best.includes(number)).length
  return wanted === 0 ? 1 : Math.min(hits, wanted) / wanted
}

/** The operation from the input of a request to the body of its response, with validation of both. */
export function searchWith(context: AnswerContext, operation: 'search' | 'resolve'): Search {
  return (name) => {
    const parsed = parseOperation(singleOf(operation), operation === 'search' ? { q: name, limit: RANKED } : { name })
    if (parsed.kind === 'invalid') return []
    const prepared = prepareAnswer(parsed.operation, context)
    if (prepared.kind === 'refused') return []
    const { candidates } = JSON.parse(prepared.body) as Pick<SearchResponse, 'candidates'>
    return candidates.map(({ company }) => company.company_number)
  }
}
