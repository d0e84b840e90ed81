/**
 * `bench compare --baseline DIR [--rounds N] [--rows N]`: the HTTP workloads on this checkout and on another built one in
 * the same run, in turn. Fails if a row is more than 10 % slower, by the median of the ratios of each round.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { generateArchive, readCorpus } from './generated-register.ts'
import { sendLoad, type LoadResult } from './load/client.ts'
import { pinClient, serveCheckout, startRemotes, type ServerProcess } from './load/server-process.ts'
import { WORKLOADS, type Corpus, type WorkloadName } from './load/workloads.ts'
import { describeMachine } from './machine.ts'
import { markdown } from './markdown.ts'
import { serviceEnvironment } from './perf/http-rounds.ts'
import { median } from './statistics.ts'
import { COMPARE_RATIO_MAX } from './targets.ts'

const ROUNDS_DEFAULT = '15'
const ROWS_DEFAULT = '20000'
const ROWS: readonly [WorkloadName, connections: number][] = [
  ['quote', 1],
  ['quote', 16],
  ['replay', 1],
  ['replay', 16],
  ['paid lookup', 1],
  ['paid lookup', 64],
  ['search', 1],
  ['search', 16],
]
/** Requests before the first round, in multiples of a round. */
const WARM_UP_ROUNDS = 2
const WARM_UP_CONNECTIONS = 16

interface Side {
  before: ServerProcess
  after: ServerProcess
}

interface Comparison {
  workload: WorkloadName
  connections: number
  before: LoadResult[]
  after: LoadResult[]
}

export async function compare(options: Record<string, string>): Promise<boolean> {
  const { baseline, rounds = ROUNDS_DEFAULT, rows = ROWS_DEFAULT } = options
  if (baseline === undefined) throw new Error('--baseline names the folder of another built checkout')
  const directory = await mkdtemp(join(tmpdir(), 'compare-'))
  try {
    const path = join(directory, 'register.zip')
    await generateArchive({ rows: Number(rows), seed: 1, path })
    await using remotes = await startRemotes()
    const environment = (side: string) =>
      serviceEnvironment(join(directory, side), { dataset: path, remotes: remotes.url })
    await using before = await serveCheckout('before', environment('before'), { checkout: resolve(baseline) })
    await using after = await serveCheckout('after', environment('after'))
    const comparisons = await measure(
      { before, after },
      { directory: join(directory, 'after'), rounds: Number(rounds) },
    )
    const lines = comparisons.map(toLine)
    process.stdout.write(`${describeMachine()}; before: ${baseline}; ${rounds} rounds\n\n`)
    const headings = ['row', 'connections', 'CPU us before', 'CPU ratio', 'p50 ms before', 'p50 ratio', 'verdict']
    process.stdout.write(`${markdown(headings, lines)}\n`)
    return comparisons.every((each) => !isSlower(each))
  } finally {
    await rm(directory, { recursive: true })
  }
}

async function measure(
  servers: Side,
  { directory, rounds }: { directory: string; rounds: number },
): Promise<Comparison[]> {
  const corpora = new Map<ServerProcess, Corpus>()
  for (const server of [servers.before, servers.after]) corpora.set(server, await readCorpus(directory))
  const both = async (workload: WorkloadName, count: number, connections: number, isReversed = false) => {
    // The remote services settle a payment once, so each server gets payments of its own.
    const load = (server: ServerProcess) => {
      const { usesRemotes = false } = WORKLOADS[workload]
      const requests = WORKLOADS[workload].build(corpora.get(server) as Corpus, count)
      return sendLoad(server, { requests, connections, usesRemotes })
    }
    const after = isReversed ? await load(servers.after) : undefined
    const before = await load(servers.before)
    return { before, after: after ?? (await load(servers.after)) }
  }
  using _ = pinClient()
  for (const workload of new Set(ROWS.map(([name]) => name)))
    await both(workload, WORKLOADS[workload].requests * WARM_UP_ROUNDS, WARM_UP_CONNECTIONS)
  const comparisons = ROWS.map(([workload, connections]): Comparison => ({
    workload,
    connections,
    before: [],
    after: [],
  }))
  for (let round = 0; round < rounds; round += 1) {
    for (const { workload, connections, before, after } of comparisons) {
      const count = WORKLOADS[workload].requests * (connections > 1 ? 2 : 1)
      const result = await both(workload, count, connections, round % 2 === 1)
      before.push(result.before)
      after.push(result.after)
    }
  }
  return comparisons
}

function ratioOf({ before, after }: Comparison, pick: (result: LoadResult) => number): number {
  return median(after.map((result, round) => pick(result) / pick(before[round] as LoadResult)))
}

const cpuOf = ({ cpuMicroseconds }: LoadResult) => cpuMicroseconds
const p50Of = ({ p50 }: LoadResult) => p50

function isSlower(comparison: Comparison): boolean {
  return ratioOf(comparison, cpuOf) > COMPARE_RATIO_MAX || ratioOf(comparison, p50Of) > COMPARE_RATIO_MAX
}

function toLine(comparison: Comparison): string[] {
  const { workload, connections, before } = comparison
  return [
    workload,
    String(connections),
    median(before.map(cpuOf)).toFixed(1),
    ratioOf(comparison, cpuOf).toFixed(3),
    median(before.map(p50Of)).toFixed(3),
    ratioOf(comparison, p50Of).toFixed(3),
    isSlower(comparison) ? 'SLOWER' : 'met',
  ]
}
