/**
 * Searches and resolutions in process, one at a time, from their input to the body of their response, beside another
 * search engine with the same queries.
 */
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
import { loadSearchPeers, productContender, RANKED, recall, timed, type Contender } from '../search/contenders.ts'
import { makeQueries, type QueryGroup } from '../search/queries.ts'
import { quantile } from '../statistics.ts'
import type { PerfRowId } from '../targets.ts'
import { withBaseline, type MeasureRows, type PerfRow } from './perf-row.ts'

const SEED = 1
/** Peers take a tenth of a second and more for some queries. */
const PEER_QUERIES_MAX = 100
/** An exhaustive scan of a million names takes over a second. */
const RECALL_QUERIES = 10
const MIB = 1024 * 1024

type NamesBench = Awaited<ReturnType<typeof openNamesBench>>

/** @param count how many queries of each group are made */
async function openNamesBench({ dataDirectory }: ImportedRegister, count: number) {
  const names = openNames(dataDirectory)
  const groups = makeQueries(names.register, { count, seed: SEED })
  return {
    search: productContender(names.context),
    resolve: productContender(names.context, 'resolve'),
    groups,
    /** Queries of a kind, of each group at most so many. */
    queriesOf: (kind: QueryGroup['kind'], max = Infinity) =>
      groups.filter((group) => group.kind === kind).flatMap(({ queries }) => queries.slice(0, max)),
    /** The reference for recall. */
    exhaustive: () => exhaustiveOf(names.context),
    /** The first installed peer: PostgreSQL where there is one, otherwise SQLite. */
    async openPeer() {
      for (const open of await loadSearchPeers()) {
        const peer = await open(names.register.companies)
        if (peer) return peer
      }
      throw new Error('No peer is installed')
    },
    [Symbol.asyncDispose]: () => names[Symbol.asyncDispose](),
  }
}

/** The row of a share of the times, such as 0.99 for p99. */
function timeRow(id: PerfRowId, share: number, times: readonly number[], peer: { name: string; times: number[] }) {
  return withBaseline(id, quantile(times, share), { name: peer.name, value: quantile(peer.times, share) })
}

export const measureSearch: MeasureRows = async ({ size, register }) => {
  await using bench = await openNamesBench(await register(size.registerRows), size.queries)
  const { search, resolve, queriesOf } = bench
  const timesOf = async (contender: Contender, kind: QueryGroup['kind']) =>
    (await timed(contender, queriesOf(kind))).times
  const found = await timed(search, queriesOf('exact'))
  // Each result is checked, because a failed query is fast and would improve the times.
  if (found.rankings.some(({ length }) => length === 0)) throw new Error('An exact name is not found')
  const [exact, fuzzy] = [found.times, await timesOf(search, 'fuzzy')]
  const others = [...(await timesOf(search, 'broad')), ...(await timesOf(search, 'hostile'))]
  const resolved = await timesOf(resolve, 'exact')
  await using peer = await bench.openPeer()
  const peerOf = async (kind: QueryGroup['kind']) => ({
    name: peer.name,
    times: (await timed(peer, queriesOf(kind, PEER_QUERIES_MAX))).times,
  })
  const [peerExact, peerFuzzy] = [await peerOf('exact'), await peerOf('fuzzy')]
  return [
    timeRow('search exact p99', 0.99, exact, peerExact),
    timeRow('search fuzzy p50', 0.5, fuzzy, peerFuzzy),
    timeRow('search fuzzy p99', 0.99, fuzzy, peerFuzzy),
    { id: 'search slowest', value: Math.max(...exact, ...fuzzy, ...others) },
    timeRow('resolve p99', 0.99, resolved, peerExact),
  ]
}

/** A million companies: times, share of the ten best names that is missed, and memory of the index. */
export const measureSearchMillion: MeasureRows = async ({ size, register }) => {
  const count = Math.min(size.queries, PEER_QUERIES_MAX)
  await using bench = await openNamesBench(await register(size.importRows), count)
  const memory = indexMemory(bench)
  await using peer = await bench.openPeer()
  const { times } = await timed(bench.search, bench.queriesOf('fuzzy'))
  const ofPeer = { name: peer.name, times: (await timed(peer, bench.queriesOf('fuzzy'))).times }
  return [
    timeRow('million p50', 0.5, times, ofPeer),
    timeRow('million p99', 0.99, times, ofPeer),
    await missedRow(bench, peer),
    memory,
  ]
}

/** The share of the ten best names of an exhaustive scan that are not found. */
async function missedRow({ queriesOf, search, exhaustive }: NamesBench, peer: Contender): Promise<PerfRow> {
  const queries = queriesOf('fuzzy', RECALL_QUERIES)
  const best = queries.map(exhaustive())
  const missedBy = async (contender: Contender) => {
    let found = 0
    for (const [at, query] of queries.entries()) found += recall(await contender.top(query), best[at] ?? [])
    return 100 * (1 - found / queries.length)
  }
  return withBaseline('million missed', await missedBy(search), { name: peer.name, value: await missedBy(peer) })
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
  void search.top(groups[0]?.queries[0] ?? '')
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
    const measure = searchMeasure(index, query.similar, doubtOf(register, query, openQueryBudgets()))
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
