/** The interface of everything that is compared in a search by name, and the timing of its queries. */
import type { BenchCompany } from '../quality/register.ts'

/** Ranks companies by name: the product, an exhaustive scan, or a peer. */
export interface Contender {
  name: string
  /** The numbers of the ten best companies, best first. An exhaustive scan adds all that tie with its tenth. */
  top(name: string): Promise<readonly string[]> | readonly string[]
  close(): Promise<void>
}

/** Builds a contender over the companies; undefined if its software is not installed. */
export type OpenContender = (companies: readonly BenchCompany[]) => Promise<Contender | undefined>

export const RANKED = 10

export interface TimedQueries {
  rankings: (readonly string[])[]
  /** Milliseconds of each query. */
  times: number[]
}

/** Warm-up queries before the measurement. */
const WARM_UP_QUERIES = 100

export async function timed(contender: Contender, names: readonly string[]): Promise<TimedQueries> {
  for (const name of names.slice(0, WARM_UP_QUERIES)) await contender.top(name)
  const result: TimedQueries = { rankings: [], times: [] }
  for (const name of names) {
    const began = performance.now()
    // Awaiting a synchronous contender would add a turn of the event loop.
    const answer = contender.top(name)
    const ranking = answer instanceof Promise ? await answer : answer
    result.times.push(performance.now() - began)
    result.rankings.push(ranking)
  }
  return result
}

/** The share of the ten best of an exhaustive ranking that were found; undefined if that ranking is empty. */
export function recall(found: readonly string[], best: readonly string[]): number | undefined {
  const wanted = Math.min(RANKED, best.length)
  if (wanted === 0) return undefined
  const bestNumbers = new Set(best)
  const hits = found.slice(0, RANKED).filter((number) => bestNumbers.has(number)).length
  return Math.min(hits, wanted) / wanted
}
