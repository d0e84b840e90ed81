/**
 * Measures a workload on the service and its baselines in turn, so that a change in the machine's speed affects all
 * alike.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { BareResponse } from '../../programs/bare-server.ts'
import { readCorpus } from '../generated-register.ts'
import { sendLoad, type LoadRequest, type LoadResult } from '../load/client.ts'
import {
  pinClient,
  startService,
  startRemotes,
  startServer,
  testProgram,
  type ServerProcess,
} from '../load/server-process.ts'
import { remotesEnvironment } from '../../support/remotes/server.ts'
import { WORKLOADS, type Corpus, type WorkloadName } from '../load/workloads.ts'
import { median } from '../statistics.ts'
import type { PerfContext, PerfRow, PerfSize } from './perf-row.ts'
import type { PerfRowId } from '../targets.ts'
import { freePort } from '../../support/listen.ts'

export const SERVICE = 'service'
export const BARE = 'bare node:http'
export const EXPRESS = 'Express with one route'
export const FORMER = 'former release'

/** The paths of the bare servers: responses as long as a quote and as a stored response. */
export const BARE_PATHS = { quote: '/quote', sold: '/sold' } as const

/** In the tree of a former release. */
const FORMER_MODULES = {
  load: 'dist/test/bench/load/server-process.js',
  rounds: 'dist/test/bench/perf/http-rounds.js',
}
const WARM_UP_CONNECTIONS = 16
/** More connections get more requests, up to this factor. */
const CONNECTIONS_SCALED_MAX = 4
/** Written by node:http itself. */
const SERVER_HEADERS = new Set(['date', 'connection', 'keep-alive'])

export interface HttpBench extends AsyncDisposable {
  /** The archive that the service serves. */
  dataset: string
  /** The URL of the facilitator and the chain node. */
  remotes: string
  corpus: Corpus
  servers: Map<string, ServerProcess>
  /** The workloads that a server is warm for. */
  warm: Set<string>
  /** The URL of the admin address of the service. */
  adminUrl: string
}

/** The service on a generated register, bare servers with responses of the same size, and the tree `former`. */
export async function openHttpBench({ size, directory, register }: PerfContext, former?: string): Promise<HttpBench> {
  const { archive } = await register(size.registerRows)
  const dataDirectory = join(directory, 'served')
  const servers = new Map<string, ServerProcess>()
  const stopAll = async () => {
    for (const server of servers.values()) await server[Symbol.asyncDispose]()
  }
  try {
    const remotes = await startRemotes()
    servers.set(remotes.name, remotes)
    const environment = serviceEnvironment(dataDirectory, { dataset: archive, remotes: remotes.url })
    const adminPort = String(await freePort())
    const service = await startService(SERVICE, { ...environment, ADMIN_PORT: adminPort })
    servers.set(SERVICE, service)
    const corpus = await readCorpus(dataDirectory)
    for await (const server of startBareServers(service, corpus)) servers.set(server.name, server)
    if (former !== undefined)
      for await (const server of startFormer(former, join(directory, 'former'), archive)) {
        servers.set(server.name, server)
        // The payment that is replayed can be bought only for some minutes.
        if (server.name === FORMER) await responseTo(server, WORKLOADS.replay.build(corpus, 1)[0])
      }
    const adminUrl = `http://127.0.0.1:${adminPort}`
    const bench = { dataset: archive, remotes: remotes.url, corpus, servers, warm: new Set<string>(), adminUrl }
    return { ...bench, [Symbol.asyncDispose]: stopAll }
  } catch (cause) {
    await stopAll()
    throw cause
  }
}

async function* startBareServers(service: ServerProcess, corpus: Corpus): AsyncGenerator<ServerProcess> {
  const [quote, sold] = [WORKLOADS.quote.build(corpus, 1)[0], WORKLOADS.replay.build(corpus, 1)[0]]
  const responses = [
    { ...(await responseTo(service, quote)), path: BARE_PATHS.quote },
    { ...(await responseTo(service, sold)), path: BARE_PATHS.sold },
  ]
  const [program, json] = [testProgram('bare-server'), JSON.stringify(responses)]
  yield startServer({ name: BARE, program, args: [json] })
  yield startServer({ name: EXPRESS, program, args: [json, 'express'] })
}

/** The service of a former release, with the facilitator and the node of its own benchmark. */
async function* startFormer(tree: string, dataDirectory: string, dataset: string): AsyncGenerator<ServerProcess> {
  const load = (await import(join(tree, FORMER_MODULES.load))) as typeof import('../load/server-process.ts')
  const remotes = await load.startRemotes()
  yield { ...remotes, name: `remotes of the ${FORMER}` }
  yield load.startService(FORMER, await formerEnvironment(tree, dataDirectory, { dataset, remotes: remotes.url }))
}

/**
 * In a process of its own: the module imports lmdb, and with two copies of lmdb each reads the other's bytes if both
 * have the same library.
 */
async function formerEnvironment(
  tree: string,
  ...values: Parameters<typeof serviceEnvironment>
): Promise<Record<string, string>> {
  const script = `
    const { serviceEnvironment } = await import(process.argv[1])
    console.log(JSON.stringify(serviceEnvironment(...JSON.parse(process.argv[2]))))
    process.exit()`
  const args = ['--input-type=module', '--eval', script, join(tree, FORMER_MODULES.rounds), JSON.stringify(values)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout) as Record<string, string>
}

/** The limits of the service but for the rate, which is out of reach. */
export function serviceEnvironment(
  dataDirectory: string,
  { dataset, remotes }: Pick<HttpBench, 'dataset' | 'remotes'>,
) {
  const ports = { PORT: '0', ADMIN_PORT: '0' }
  const rate = { RATE_LIMIT_PER_MINUTE: '100000', TEST_ADDRESS_BUDGET: '900000000' }
  return { DATA_DIR: dataDirectory, DATASET: dataset, ...remotesEnvironment(remotes), ...ports, ...rate }
}

async function responseTo({ url }: ServerProcess, request: LoadRequest | undefined): Promise<BareResponse> {
  if (!request) throw new Error('The corpus is empty')
  const { path, headers = {}, status } = request
  const response = await fetch(url + path, { headers })
  if (response.status !== status) throw new Error(`${path} got ${response.status}`)
  const sent = [...response.headers].filter(([name]) => !SERVER_HEADERS.has(name))
  return { path, status, headers: Object.fromEntries(sent), bytes: (await response.arrayBuffer()).byteLength }
}

interface Side {
  server: string
  /** Default: that of the rounds. */
  workload?: WorkloadName
  /** Replaces what the workload sends. */
  replace?: Partial<LoadRequest>
}

/** @returns the results of every round, by side */
export async function measureRounds(
  bench: HttpBench,
  options: { workload: WorkloadName; connections: number; size: PerfSize; sides: Record<string, Side> },
): Promise<Map<string, LoadResult[]>> {
  const { workload, connections, size, sides } = options
  using _ = pinClient()
  const load = ({ server: name, workload: own = workload, replace }: Side, count: number, atOnce: number) => {
    const server = bench.servers.get(name)
    if (!server) throw new Error(`${name} is not running`)
    const requests = WORKLOADS[own].build(bench.corpus, count).map((request) => Object.assign(request, replace))
    const { connectionsMax = atOnce, usesRemotes = false } = WORKLOADS[own]
    return sendLoad(server, { requests, connections: Math.min(atOnce, connectionsMax), usesRemotes })
  }
  for (const side of Object.values(sides)) {
    const { server, workload: own = workload } = side
    const isWarm = bench.warm.has(`${server} ${own}`)
    bench.warm.add(`${server} ${own}`)
    const count = WORKLOADS[own].usesRemotes ? size.warmUpSales : size.warmUpRequests
    if (!isWarm) await load(side, count, WARM_UP_CONNECTIONS)
  }
  const count = Math.ceil(
    WORKLOADS[workload].requests * size.requestShare * Math.min(connections, CONNECTIONS_SCALED_MAX),
  )
  const results = new Map(Object.keys(sides).map((name) => [name, [] as LoadResult[]]))
  for (let round = 0; round < size.rounds; round += 1) {
    const order = Object.entries(sides)
    if (round % 2 === 1) order.reverse()
    for (const [name, side] of order) results.get(name)?.push(await load(side, count, connections))
  }
  return results
}

export const p50 = (result: LoadResult) => result.p50
export const cpu = (result: LoadResult) => result.cpuMicroseconds
export const rate = (result: LoadResult) => result.rate

/**
 * The row of one side, by default the service, beside one baseline: medians, and the median of the ratios of each
 * round.
 */
export function compareRounds(
  results: Map<string, LoadResult[]>,
  {
    id,
    side = SERVICE,
    baseline,
    pick,
  }: { id: PerfRowId; side?: string; baseline: string; pick: (result: LoadResult) => number },
): PerfRow {
  const values = (results.get(side) ?? []).map(pick)
  const baselines = (results.get(baseline) ?? []).map(pick)
  const ratio = median(values.map((value, round) => value / (baselines[round] ?? Number.NaN)))
  return { id, value: median(values), baseline: { name: baseline, value: median(baselines) }, ratio }
}
