/** What a search by name is compared with, and how: the same queries, one at a time, each timed. */
import type { Listed } from '../quality/register.ts'
import { fold, partsOf } from '../quality/names.ts'

/** One that ranks companies by a name: the product, an exhaustive scan, or a peer. */
export interface Contender {
  name: string
  /**
   * The numbers of its best ten companies, best first. An exhaustive scan adds all that are as good as its tenth: which of
   * them comes tenth is chance.
   */
  top(name: string): Promise<readonly string[]> | readonly string[]
  close(): Promise<void>
}

/** Made from the companies it shall know; undefined, having said why, where it isn't installed. */
export type OpenContender = (companies: readonly Listed[]) => Promise<Contender | undefined>

export const RANKED = 10

/**
 * What peers are given of a name, on both sides: its fold without the legal form. That helps them: LIMITED alone makes
 * any two short names alike to a trigram index.
 */
export function peerText(name: string): string {
  return fold(partsOf(name).core)
}

export interface Timed {
  rankings: (readonly string[])[]
  /** Milliseconds, a query each. */
  times: number[]
}

/** Queries before the clock starts: what is opened or compiled for the first ones is no part of the later ones. */
const WARM_UP = 100

export async function timed(contender: Contender, names: readonly string[]): Promise<Timed> {
  for (const name of names.slice(0, WARM_UP)) await contender.top(name)
  const result: Timed = { rankings: [], times: [] }
  for (const name of names) {
    const began = performance.now()
    // A contender in this process answers at once; waiting for it would time the event loop.
    const answer = contender.top(name)
    const ranking = answer instanceof Promise ? await answer : answer
    result.times.push(performance.now() - began)
    result.rankings.push(ranking)
  }
  return result
}

/** How many of the best ten of an exhaustive ranking were found; undefined where it has none. */
export function recall(found: readonly string[], best: readonly string[]): number | undefined {
  const wanted = Math.min(RANKED, best.length)
  if (wanted === 0) return undefined
  const truth = new Set(best)
  const hits = found.slice(0, RANKED).filter((number) => truth.has(number)).length
  return Math.min(hits, wanted) / wanted
}

export function quantile(times: readonly number[], part: number): number {
  const sorted = times.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}
