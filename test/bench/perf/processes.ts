/**
 * Paid lookups a second with two processes on one response log, beside one process, without pinned cores. The load, the
 * remote services and PostgreSQL use the same cores, so the rates are those of a small machine.
 */
import { join } from 'node:path'
import { generateRegister } from '../../support/sample/generate.ts'
import { readCorpus } from '../generated-register.ts'
import { sendLoad } from '../load/client.ts'
import { startService, startRemotes, type ServerProcess } from '../load/server-process.ts'
import { WORKLOADS, type Corpus } from '../load/workloads.ts'
import { startDatabase } from '../log-kind.ts'
import { median } from '../statistics.ts'
import type { PerfRowId } from '../targets.ts'
import { serviceEnvironment } from './http-rounds.ts'
import type { PerfContext, PerfRow, PerfSize } from './perf-row.ts'

/** Only lookups are measured, so a small register is enough. */
const REGISTER_ROWS = 3_000
const CONNECTIONS = 64
const REQUESTS = 1_200

interface Side {
  corpus: Corpus
  /** Two processes on one log. */
  processes: readonly [ServerProcess, ServerProcess]
}

export async function measureProcesses({ size, directory }: PerfContext): Promise<PerfRow[]> {
  const dataset = join(directory, 'processes.zip')
  await generateRegister({ rows: REGISTER_ROWS, seed: 1, out: dataset })
  await using remotes = await startRemotes('any')
  await using database = await startDatabase()
  const environment = (log: string) =>
    serviceEnvironment(join(directory, `processes-${log}`), { dataset, remotes: remotes.url })
  await using lmdb = await openSide('LMDB', environment('lmdb'))
  await using postgres = await openSide('PostgreSQL', { ...environment('postgres'), RESPONSE_LOG: database.url })
  return [await measureSide('lmdb two', lmdb, size), await measureSide('postgres two', postgres, size)]
}

async function openSide(name: string, environment: Record<string, string>): Promise<Side & AsyncDisposable> {
  const start = () => startService(name, environment, 'any')
  const processes = [await start(), await start()] as const
  return {
    corpus: await readCorpus(environment['DATA_DIR'] ?? ''),
    processes,
    async [Symbol.asyncDispose]() {
      for (const each of processes) await each[Symbol.asyncDispose]()
    },
  }
}

async function measureSide(id: PerfRowId, { corpus, processes }: Side, size: PerfSize): Promise<PerfRow> {
  const [first] = processes
  for (const each of processes) await load([each], corpus, size.warmUpRequests)
  const count = Math.ceil(REQUESTS * size.requestShare)
  const [one, two] = [[] as number[], [] as number[]]
  for (let round = 0; round < size.rounds; round += 1) {
    one.push(await load([first], corpus, count))
    two.push(await load(processes, corpus, count))
  }
  const ratio = median(two.map((rate, round) => rate / (one[round] ?? Number.NaN)))
  return { id, value: median(two), baseline: { name: '1 process', value: median(one) }, ratio }
}

/** Divides requests and connections among the processes. @returns sales a second */
async function load(processes: readonly ServerProcess[], corpus: Corpus, count: number): Promise<number> {
  const connections = CONNECTIONS / processes.length
  const shares = processes.map(() => WORKLOADS['paid lookup'].build(corpus, Math.ceil(count / processes.length)))
  const began = performance.now()
  await Promise.all(
    processes.map((server, index) => {
      const requests = shares[index] ?? []
      return sendLoad(server, { requests, connections, usesRemotes: true })
    }),
  )
  return shares.flat().length / ((performance.now() - began) / 1000)
}
