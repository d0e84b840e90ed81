/**
 * `npm run bench -- search [--data DIR | --rows N] [--queries N] [--seed S] [--peers]`: how long a search takes in process
 * and on one core, by kind of query, and the memory that the first one takes. With `--peers` the same queries are put to
 * others in the same run: the ratio holds on other machines, the milliseconds don't.
 */
import { cpus } from 'node:os'
import { openBenchRegister, type BenchRegister } from './bench-register.ts'
import { timed, type Contender, type Timed } from './peers/contender.ts'
import { exhaustiveOf } from './peers/exhaustive.ts'
import { PEERS, productContender } from './peers/peers.ts'
import { makeQueries, type QueryGroup } from './search/queries.ts'
import { everyExactNameFound, timesTable, timeTargets, type Measured, type Role } from './search/times.ts'
import { allMet, targetTable } from './targets.ts'

const ROWS_DEFAULT = '100000'
const QUERIES_DEFAULT = '1000'
const SEED_DEFAULT = '1'
/** Of a group's queries, for those that need a tenth of a second and more for each. */
const PEER_QUERIES_MAX = 100
const MIB = 2 ** 20

export async function search(options: Record<string, string>): Promise<boolean> {
  const { data, rows = ROWS_DEFAULT, queries = QUERIES_DEFAULT, seed: seedText = SEED_DEFAULT } = options
  const seed = Number(seedText)
  const opened = await openBenchRegister({ data, rows: Number(rows), seed, removals: 0 })
  const print = (text: string) => void process.stdout.write(`${text}\n`)
  try {
    print(`${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.version}, ${today()}`)
    print(`${opened.description}, seed ${seed}; one query at a time`)
    const groups = makeQueries(opened.register, { count: Number(queries), seed })
    const product = productContender(opened.shelf)
    print(await firstQuery(product, groups))
    const measured = await measure('ours', product, groups)
    const named = groups.filter(({ kind }) => kind === 'exact')
    measured.push(...(await measure('ours, resolving', productContender(opened.shelf, 'resolve'), named)))
    if (options['peers'] !== undefined) measured.push(...(await measurePeers(opened, groups)))
    const found = everyExactNameFound(measured)
    print(timesTable(measured))
    print(`\n${targetTable([found, ...timeTargets(measured)])}`)
    // The times are the machine's as well, and fail nothing.
    return allMet([found])
  } finally {
    await opened.close()
  }
}

const today = () => new Date().toISOString().slice(0, 10)

/** What is opened at the first query and kept. */
async function firstQuery(product: Contender, groups: readonly QueryGroup[]): Promise<string> {
  const before = process.memoryUsage.rss()
  const began = performance.now()
  await product.top(groups[0]?.queries[0] ?? '')
  const elapsed = performance.now() - began
  const after = process.memoryUsage.rss()
  return `first query ${elapsed.toFixed(1)} ms; resident memory ${Math.round(before / MIB)} MiB before it, ${Math.round(after / MIB)} after`
}

async function measure(
  role: Role,
  contender: Contender,
  groups: readonly QueryGroup[],
  truth?: Truth,
): Promise<Measured[]> {
  const result: Measured[] = []
  for (const { name, kind, queries } of groups) {
    const { rankings, times } = await timed(contender, queries)
    const best = truth?.get(name)
    result.push({ role, contender: contender.name, group: name, kind, times, rankings, truth: best })
  }
  return result
}

/** The exhaustive ranking of the peers' queries, by group. */
type Truth = ReadonlyMap<string, Timed['rankings']>

/** The product again on the peers' smaller share of the queries, so that all that is compared is of the same queries. */
async function measurePeers({ register, shelf }: BenchRegister, groups: readonly QueryGroup[]): Promise<Measured[]> {
  const fewer = groups.map((group) => ({ ...group, queries: group.queries.slice(0, PEER_QUERIES_MAX) }))
  const truth = await exhaustiveRankings(await exhaustiveOf(shelf)(register.companies), fewer)
  const measured = await measure('ours, beside peers', compared(productContender(shelf)), fewer, truth)
  for (const open of PEERS) {
    const contender = await open(register.companies)
    if (!contender) continue
    process.stdout.write(`${contender.name} ...\n`)
    try {
      measured.push(...(await measure('peer', contender, fewer, truth)))
    } finally {
      await contender.close()
    }
  }
  return measured
}

function compared(contender: Contender): Contender {
  return { ...contender, name: `${contender.name}, the peers' queries` }
}

async function exhaustiveRankings(exhaustive: Contender | undefined, groups: readonly QueryGroup[]): Promise<Truth> {
  const rankings = new Map<string, Timed['rankings']>()
  for (const { name, queries } of groups) {
    if (exhaustive) rankings.set(name, (await timed(exhaustive, queries)).rankings)
  }
  return rankings
}
