/** The interface of everything that is compared in a search by name, and the timing of its queries. */
import type { BenchCompany } from '../quality/register.ts'

/** Ranks companies by name: the product or a peer. */
export interface Contender extends AsyncDisposable {
  name: string
  /** The numbers of the ten best companies, best first. */
  top(name: string): Promise<readonly string[]> | readonly string[]
}

/** Builds a contender over the companies; undefined if its software is not installed. */
export type OpenContender = (companies: readonly BenchCompany[]) => Promise<Contender | undefined>

export const RANKED = 10

/** Queries before the measurement: after fewer, the slowest ones are those that the compiler has not optimised yet. */
const WARM_UP_QUERIES = 1_000
/** Some peers take a tenth of a second for a query. */
const WARM_UP_MS_MAX = 10_000

/** The ranking for each query, and its time in milliseconds. */
export async function timed(contender: Contender, names: readonly string[]) {
  const end = performance.now() + WARM_UP_MS_MAX
  for (let at = 0; at < WARM_UP_QUERIES && performance.now() < end; at += 1)
    await contender.top(names[at % names.length] ?? '')
  const [rankings, times] = [[] as (readonly string[])[], [] as number[]]
  for (const name of names) {
    const began = performance.now()
    // Awaiting a synchronous contender would add a turn of the event loop.
    const answer = contender.top(name)
    const ranking = answer instanceof Promise ? await answer : answer
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
