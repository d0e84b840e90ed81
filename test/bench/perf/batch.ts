/**
 * A hundred lookups in one batch beside a hundred single ones, and the longest time for which batches hold the event
 * loop of the service: lookups, slow names, and records on a day at the end of long histories, with an answer of almost
 * 1 MiB.
 */
import { join } from 'node:path'
import { mkdir } from 'node:fs/promises'
import { DAY_MS } from '../../../base/day.ts'
import { randomFor } from '../../support/random.ts'
import { encodeEntry } from '../../../store/dataset/company-entry.ts'
import { SYNTHETIC } from '../../../store/dataset/source.ts'
import { SYNTHETIC_COMPANY } from '../../../store/dataset/synthetic.ts'
import { companyKey, historyFolder } from '../../../store/files/layout.ts'
import { HistoryDatabase } from '../../../store/history/history-database.ts'
import { addFile } from '../../../store/history/write-journal.ts'
import { sendLoad, type LoadRequest } from '../load/client.ts'
import { longestHoldMs, startService, type ServerProcess } from '../load/server-process.ts'
import { batchRequest, WORKLOADS } from '../load/workloads.ts'
import { HOSTILE } from '../search/queries.ts'
import { median } from '../statistics.ts'
import type { PerfRowId } from '../targets.ts'
import { compareRounds, measureRounds, SERVICE, serviceEnvironment, type HttpBench } from './http-rounds.ts'
import type { PerfContext, PerfRow, PerfSize } from './perf-row.ts'

const SINGLE = '100 single lookups'
const LOOKUPS = 100
/** The most inputs over MCP (contract 4.11.1). */
const TOOL_INPUTS = 50
const RESOLVES = 25
/** A batch costs about as much as this many single requests. */
const WARM_UP_SHARE = 0.01
/** Of each kind in a round. */
const BATCHES = 5

/** Each day changes every company, so that a record on the first day has all days before it in its history. */
const DAYS = 1_000
const FIRST_DAY = '2020-01-01'
/** A hundred answers then have almost 1 MiB. */
const ADDRESS = 'A'.repeat(9_200)

export async function measureBatch(bench: HttpBench, context: PerfContext): Promise<PerfRow[]> {
  return [...(await measureCost(bench, context.size)), ...(await measureHolds(bench, context))]
}

async function measureCost(bench: HttpBench, size: PerfSize): Promise<PerfRow[]> {
  const results = await measureRounds(bench, {
    workload: 'batch of 100 lookups',
    connections: 1,
    size: { ...size, warmUpSales: Math.ceil(size.warmUpSales * WARM_UP_SHARE) },
    sides: { [SERVICE]: { server: SERVICE }, [SINGLE]: { server: SERVICE, workload: 'paid lookup' } },
  })
  const singles = (results.get(SINGLE) ?? []).map((result) =>
    Object.assign(result, { p50: result.p50 * LOOKUPS, cpuMicroseconds: result.cpuMicroseconds * LOOKUPS }),
  )
  const compared = new Map([...results, [SINGLE, singles]])
  return [
    compareRounds(compared, { id: 'batch p50', baseline: SINGLE, pick: ({ p50 }) => p50 }),
    compareRounds(compared, {
      id: 'batch cpu',
      baseline: SINGLE,
      pick: ({ cpuMicroseconds }) => cpuMicroseconds / 1000,
    }),
  ]
}

async function measureHolds({ dataset, remotes, corpus }: HttpBench, { size, directory }: PerfContext) {
  const data = join(directory, 'batches')
  const numbers = Array.from({ length: LOOKUPS }, (_, at) => String(900_000_000 + at))
  await recordHistories(data, numbers, Math.max(2, DAYS * size.requestShare))
  await using service = await startService('batches', serviceEnvironment(data, { dataset, remotes }))
  const words = corpus.names.flatMap((name) => name.split(' '))
  const names = Array.from({ length: RESOLVES }, (_, at) => {
    const hostile = HOSTILE[at % HOSTILE.length] as (typeof HOSTILE)[number]
    return hostile(randomFor(1, at, 0), words)
  })
  const onDay = numbers.map((company_number) => ({ company_number, date: FIRST_DAY }))
  const requests: Partial<Record<PerfRowId, () => LoadRequest>> = {
    'batch holds lookup': () => WORKLOADS['batch of 100 lookups'].build(corpus, 1)[0] as LoadRequest,
    'batch holds resolve': () => batchRequest({ operation: 'resolve', inputs: names.map((name) => ({ name })) }),
    'batch holds as_of': () => batchRequest({ operation: 'as_of', inputs: onDay }),
    'batch holds mcp': () => batchRequest({ operation: 'as_of', inputs: onDay.slice(0, TOOL_INPUTS) }, 'MCP'),
  }
  const rows: PerfRow[] = []
  for (const [id, make] of Object.entries(requests)) {
    const value = await holdsDuring(service, size, () => Array.from({ length: BATCHES }, make))
    rows.push({ id: id as PerfRowId, value })
  }
  return rows
}

/** The longest hold of a round: the median of the rounds, because a collection of garbage adds to a few. */
async function holdsDuring(service: ServerProcess, size: PerfSize, make: () => LoadRequest[]): Promise<number> {
  const rounds: number[] = []
  await sendLoad(service, { requests: make(), connections: 1, usesRemotes: true })
  for (let round = 0; round < size.rounds; round += 1) {
    const requests = make()
    await longestHoldMs(service)
    await sendLoad(service, { requests, connections: 1, usesRemotes: true })
    rounds.push(await longestHoldMs(service))
  }
  return median(rounds)
}

/** The journal of earlier days. The service adds the file that it serves. */
async function recordHistories(data: string, numbers: readonly string[], days: number): Promise<void> {
  await mkdir(historyFolder(data), { recursive: true })
  const history = new HistoryDatabase(data, { readOnly: false })
  for (let day = 0; day < days; day += 1) {
    const time = new Date(Date.parse(FIRST_DAY) + day * DAY_MS).toISOString()
    const source = { ...SYNTHETIC, retrieved_at: time, source_updated_at: time }
    const entries = numbers.map((company_number) => ({
      key: companyKey(company_number),
      value: encodeEntry({
        ...SYNTHETIC_COMPANY,
        company_number,
        status_date: time.slice(0, FIRST_DAY.length),
        registered_address: { lines: [day === 0 ? ADDRESS : ''], eircode: null },
      }),
    }))
    addFile(
      history,
      { snapshot_id: `sha256:${String(day).padStart(64, '0')}`, location: 'bench', archive_sha256: '', source },
      entries,
    )
  }
  await history.close()
}
