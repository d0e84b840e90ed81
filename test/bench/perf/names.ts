/** Searches and resolutions in process, one at a time, from their input to the body of their response. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { cachedNameIndex } from '../../../agent/answer/registers.ts'
import { nameScore } from '../../../agent/answer/search/candidate.ts'
import { doubtOf, findEqualNames } from '../../../agent/answer/search/equal-names.ts'
import { parseQueryName } from '../../../agent/answer/search/typed-name.ts'
import type { Snapshot } from '../../../store/dataset/snapshot.ts'
import { openQueryBudgets } from '../../../store/index/operation-budget.ts'
import { searchMeasure } from '../../support/search-similarity.ts'
import { openNames, type ImportedRegister } from '../generated-register.ts'
import { makeQueries, type QueryGroup } from '../search/queries.ts'
import { RANKED, recall, searchWith, timed, type Search } from '../search/timed-search.ts'
import { quantile } from '../statistics.ts'
import type { MeasureRows, PerfRow } from './perf-row.ts'

const SEED = 1
/** Of a million companies, each of which takes longer. */
const MILLION_QUERIES_MAX = 100
/** An exhaustive scan of a million names takes over a second. */
const RECALL_QUERIES = 10
const MIB = 1024 * 1024

type NamesBench = Awaited<ReturnType<typeof openNamesBench>>

/** @param count how many queries of each group are made */
async function openNamesBench({ dataDirectory }: ImportedRegister, count: number) {
  // Nothing below keeps the copy of the register, which would slow each collection of garbage.
  const { register, context, [Symbol.asyncDispose]: close } = openNames(dataDirectory)
  const groups = makeQueries(register, { count, seed: SEED })
  return {
    search: searchWith(context, 'search'),
    resolve: searchWith(context, 'resolve'),
    groups,
    /** Queries of a kind, of each group at most so many. */
    queriesOf: (kind: QueryGroup['kind'], max = Infinity) =>
      groups.filter((group) => group.kind === kind).flatMap(({ queries }) => queries.slice(0, max)),
    /** The reference for recall. */
    exhaustive: () => exhaustiveOf(context),
    [Symbol.asyncDispose]: close,
  }
}

export const measureSearch: MeasureRows = async ({ size, register }) => {
  await using bench = await openNamesBench(await register(size.registerRows), size.queries)
  const { search, resolve, queriesOf } = bench
  const timesOf = (measured: Search, kind: QueryGroup['kind']) => timed(measured, queriesOf(kind)).times
  const found = timed(search, queriesOf('exact'))
  // Each result is checked, because a failed query is fast and would improve the times.
  if (found.rankings.some(({ length }) => length === 0)) throw new Error('An exact name is not found')
  const [exact, fuzzy] = [found.times, timesOf(search, 'fuzzy')]
  const others = [...timesOf(search, 'broad'), ...timesOf(search, 'hostile')]
  const resolved = timesOf(resolve, 'exact')
  return [
    { id: 'search exact p99', value: quantile(exact, 0.99) },
    { id: 'search fuzzy p50', value: quantile(fuzzy, 0.5) },
    { id: 'search fuzzy p99', value: quantile(fuzzy, 0.99) },
    { id: 'search slowest', value: Math.max(...exact, ...fuzzy, ...others) },
    { id: 'resolve p99', value: quantile(resolved, 0.99) },
  ]
}

/** A million companies: times, share of the ten best names that is missed, and memory of the index. */
export const measureSearchMillion: MeasureRows = async ({ size, register }) => {
  const count = Math.min(size.queries, MILLION_QUERIES_MAX)
  await using bench = await openNamesBench(await register(size.importRows), count)
  const memory = indexMemory(bench)
  const { times } = timed(bench.search, bench.queriesOf('fuzzy'))
  return [
    { id: 'million p50', value: quantile(times, 0.5) },
    { id: 'million p99', value: quantile(times, 0.99) },
    missedRow(bench),
    memory,
  ]
}

/** The share of the ten best names of an exhaustive scan that are not found. */
function missedRow({ queriesOf, search, exhaustive }: NamesBench): PerfRow {
  const queries = queriesOf('fuzzy', RECALL_QUERIES)
  const best = queries.map(exhaustive())
  const found = queries.reduce((sum, query, at) => sum + recall(search(query), best[at] ?? []), 0)
  return { id: 'million missed', value: 100 * (1 - found / queries.length) }
}

/** The memory that the first search adds, because it loads the index. */
function indexMemory({ search, groups }: NamesBench): PerfRow {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const used = () => {
    collectGarbage()
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    return (arrayBuffers + heapUsed) / MIB
  }
  const before = used()
  search(groups[0]?.queries[0] ?? '')
  return { id: 'million memory', value: used() - before }
}

/**
 * The reference ranking for recall: measures every name of the register with the product's own similarity. It checks
 * that the index overlooks no name; it does not check the similarity itself. The returned function gives the numbers
 * of the ten best companies for a query, and of all that tie with the tenth.
 */
function exhaustiveOf({ dataset: { snapshot } }: { dataset: { snapshot: Snapshot } }) {
  const index = cachedNameIndex(snapshot)
  return (text: string): string[] => {
    const limits = { accepts: () => true, budgets: openQueryBudgets() }
    const query = parseQueryName(text)
    const register = { snapshot, names: index }
    const equal = findEqualNames(register, query, query.whole, limits)
    const measure = searchMeasure(
      index,
      query.similar,
      doubtOf(register, query, { known: {}, budgets: openQueryBudgets() }),
    )
    const measured = Array.from({ length: index.size }, (_, name) => ({ name, ...measure(name) }))
    const isAlone = equal.size === 0 && measured.every(({ isContaining }) => !isContaining)
    const scored = measured.flatMap(({ name, similarity }) => {
      const exact = equal.get(name)?.exact
      const found = similarity(isAlone)
      if (exact === undefined && found === 0) return []
      return [{ number: index.companyNumber(name), score: nameScore(exact ?? 'fuzzy_name', found) }]
    })
    const least = scored.toSorted((one, other) => other.score - one.score)[RANKED - 1]?.score ?? 0
    return scored.filter(({ score }) => score >= least).map(({ number }) => number)
  }
}
