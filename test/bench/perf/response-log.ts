/** Paid lookups with the response log in PostgreSQL, beside LMDB: with one process, and with two that share the log. */
import { join } from 'node:path'
import { generateArchive, readCorpus } from '../generated-register.ts'
import { sendLoad } from '../load/client.ts'
import { pinClient, startServer, testProgram, type ServerProcess } from '../load/server-process.ts'
import { WORKLOADS, type Corpus } from '../load/workloads.ts'
import { startDatabase } from '../log-kind.ts'
import { median } from '../statistics.ts'
import type { PerfRowId } from '../targets.ts'
import { serviceEnvironment } from './http-rounds.ts'
import type { PerfContext, PerfRow, PerfSize } from './perf-row.ts'

/** Only lookups are measured, so a small register is enough. */
const REGISTER_ROWS = 3_000
const WARM_UP_CONNECTIONS = 16
const MANY_CONNECTIONS = 64
const WORKLOAD = WORKLOADS['paid lookup']

interface Side {
  name: string
  corpus: Corpus
  /** Two processes on one log. */
  processes: readonly [ServerProcess, ServerProcess]
}

export async function measureResponseLog({ size, directory }: PerfContext): Promise<PerfRow[]> {
  const dataset = join(directory, 'response-log.zip')
  await generateArchive({ rows: REGISTER_ROWS, seed: 1, path: dataset })
  await using database = await startDatabase()
  await using lmdb = await openSide({ name: 'LMDB', directory, dataset })
  await using postgres = await openSide({ name: 'PostgreSQL', directory, dataset, responseLog: database.url })
  const sides = [lmdb, postgres] as const
  using _ = pinClient()
  for (const side of sides)
    for (const each of side.processes) await load(side, [each], size.warmUpRequests, WARM_UP_CONNECTIONS)
  return [
    await measure(sides, { id: 'log alone', size, processes: 1, connections: 1 }),
    await measure(sides, { id: 'log one', size, processes: 1, connections: MANY_CONNECTIONS }),
    await measure(sides, { id: 'log two', size, processes: 2, connections: MANY_CONNECTIONS }),
  ]
}

interface SideOptions {
  name: string
  directory: string
  dataset: string
  /** The URL of a log in PostgreSQL. */
  responseLog?: string
}

async function openSide({ name, directory, dataset, responseLog }: SideOptions): Promise<Side & AsyncDisposable> {
  const dataDirectory = join(directory, `response-log-${name}`)
  const environment = {
    ...serviceEnvironment(dataDirectory, dataset),
    ...(responseLog !== undefined && { RESPONSE_LOG: responseLog }),
  }
  const start = () => startServer({ name, program: testProgram('stubbed-service'), environment })
  const first = await start()
  const processes = [first, await start()] as const
  return {
    name,
    corpus: await readCorpus(dataDirectory),
    processes,
    async [Symbol.asyncDispose]() {
      for (const each of processes) await each[Symbol.asyncDispose]()
    },
  }
}

interface Measured {
  id: PerfRowId
  size: PerfSize
  processes: 1 | 2
  connections: number
}

async function measure([lmdb, postgres]: readonly [Side, Side], measured: Measured): Promise<PerfRow> {
  const { id, size, processes, connections } = measured
  const count = Math.ceil(WORKLOAD.requests * size.requestShare)
  const values = new Map<Side, number[]>([lmdb, postgres].map((side) => [side, []]))
  for (let round = 0; round < size.rounds; round += 1) {
    for (const side of round % 2 === 0 ? [lmdb, postgres] : [postgres, lmdb])
      values.get(side)?.push(await load(side, side.processes.slice(0, processes), count, connections))
  }
  const [baselines, own] = [values.get(lmdb) ?? [], values.get(postgres) ?? []]
  const ratio = median(own.map((value, round) => value / (baselines[round] ?? Number.NaN)))
  return { id, value: median(own), baseline: { name: lmdb.name, value: median(baselines) }, ratio }
}

/** Divides requests and connections among the processes. @returns milliseconds for each request */
async function load(
  { corpus }: Side,
  processes: readonly ServerProcess[],
  count: number,
  connections: number,
): Promise<number> {
  const share = Math.ceil(count / processes.length)
  const shares = processes.map(() => WORKLOAD.build(corpus, share))
  const began = performance.now()
  await Promise.all(
    processes.map((server, index) =>
      sendLoad(server, { requests: shares[index] ?? [], connections: Math.ceil(connections / processes.length) }),
    ),
  )
  return (performance.now() - began) / (share * processes.length)
}
