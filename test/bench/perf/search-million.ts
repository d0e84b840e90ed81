/**
 * Searches for misspelt names in a register of a million companies, beside another search engine: times, share of the ten
 * best names that is missed, and memory of the index.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { recall, timed, type Contender } from '../search/contender.ts'
import { quantile } from '../statistics.ts'
import { openNamesBench, type NamesBench } from './names.ts'
import { withBaseline, type MeasureRows, type PerfRow } from './perf-row.ts'

/** The peer takes up to a third of a second for each. */
const QUERIES_PER_GROUP = 100
/** An exhaustive scan of a million names takes over a second. */
const RECALL_QUERIES_PER_GROUP = 10
const MIB = 1024 * 1024

export const measureSearchMillion: MeasureRows = async ({ size, register }) => {
  await using bench = await openNamesBench(await register(size.importRows), Math.min(size.queries, QUERIES_PER_GROUP))
  const memory = indexMemory(bench)
  const peer = await bench.openPeer()
  try {
    const queries = bench.peerQueries('fuzzy')
    const own = await timed(bench.search, queries)
    const others = await timed(peer, queries)
    const row = (id: 'million p50' | 'million p99', share: number): PerfRow => {
      const baseline = { name: peer.name, value: quantile(others.times, share) }
      return withBaseline(id, quantile(own.times, share), baseline)
    }
    return [row('million p50', 0.5), row('million p99', 0.99), await missedRow(bench, peer), memory]
  } finally {
    await peer.close()
  }
}

/** The share of the ten best names of an exhaustive scan that are not found. */
async function missedRow({ groups, search, openExhaustive }: NamesBench, peer: Contender): Promise<PerfRow> {
  const queries = groups
    .filter(({ kind }) => kind === 'fuzzy')
    .flatMap((group) => group.queries.slice(0, RECALL_QUERIES_PER_GROUP))
  const exhaustive = await openExhaustive()
  const best = await Promise.all(queries.map(async (query) => exhaustive.top(query)))
  const missedBy = async (contender: Contender) => {
    const found = await Promise.all(
      queries.map(async (query, at) => recall(await contender.top(query), best[at] ?? []) ?? 1),
    )
    return 100 * (1 - found.reduce((sum, each) => sum + each, 0) / found.length)
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
