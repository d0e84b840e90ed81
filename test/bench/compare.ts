/**
 * `bench compare --baseline DIR [--rounds N] [--rows N]`: the HTTP workloads on this checkout and on another built one in
 * the same run, in turn. Fails if a row is more than 10 % slower, by the median of the ratios of each round.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { generateArchive, readCorpus } from './generated-register.ts'
import { sendLoad, type LoadRequest, type LoadResult } from './load/client.ts'
import { pinClient, startServer, testProgram, type ServerProcess } from './load/server-process.ts'
import { WORKLOADS, type WorkloadName } from './load/workloads.ts'
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
  ['paid lookup', 16],
  ['search', 1],
  ['search', 16],
]
/** Requests before the first round, in multiples of a round. */
const WARM_UP_ROUNDS = 2
const WARM_UP_CONNECTIONS = 16
/** Where a checkout has the program that starts its service with stubs; the second is its older place. */
const PROGRAMS = ['dist/test/programs/stubbed-service.js', 'dist/test/support/busy-service.js']

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
  const program = PROGRAMS.map((path) => resolve(baseline, path)).find((path) => existsSync(path))
  if (program === undefined) throw new Error(`${baseline} is not a built checkout`)
  const directory = await mkdtemp(join(tmpdir(), 'compare-'))
  try {
    const path = join(directory, 'register.zip')
    await generateArchive({ rows: Number(rows), seed: 1, path })
    const environment = (side: string) => serviceEnvironment(join(directory, side), path)
    await using before = await startServer({ name: 'before', program, environment: environment('before') })
    const own = testProgram('stubbed-service')
    await using after = await startServer({ name: 'after', program: own, environment: environment('after') })
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
  const corpus = await readCorpus(directory)
  const build = (workload: WorkloadName, count: number) => WORKLOADS[workload].build(corpus, count)
  const both = async (requests: LoadRequest[], connections: number, isReversed = false) => {
    const load = (server: ServerProcess) => sendLoad(server, { requests, connections })
    const after = isReversed ? await load(servers.after) : undefined
    const before = await load(servers.before)
    return { before, after: after ?? (await load(servers.after)) }
  }
  using _ = pinClient()
  for (const workload of new Set(ROWS.map(([name]) => name)))
    await both(build(workload, WORKLOADS[workload].requests * WARM_UP_ROUNDS), WARM_UP_CONNECTIONS)
  const comparisons = ROWS.map(([workload, connections]): Comparison => ({
    workload,
    connections,
    before: [],
    after: [],
  }))
  for (let round = 0; round < rounds; round += 1) {
    for (const { workload, connections, before, after } of comparisons) {
      const count = WORKLOADS[workload].requests * (connections > 1 ? 2 : 1)
      const result = await both(build(workload, count), connections, round % 2 === 1)
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
