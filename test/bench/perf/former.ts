/**
 * The operations and the import beside a former release. Both services are started several times, because what V8
 * compiles differs between two starts of one release by some percent. The least disturbed round of each is compared.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { LoadResult } from '../load/client.ts'
import type { WorkloadName } from '../load/workloads.ts'
import { runImport } from '../generated-register.ts'
import { median } from '../statistics.ts'
import type { PerfRowId } from '../targets.ts'
import { cpu, FORMER, measureRounds, openHttpBench, p50, rate, SERVICE } from './http-rounds.ts'
import { withBaseline, type PerfContext, type PerfRow } from './perf-row.ts'

const STARTS = 2

type Pick = (result: LoadResult) => number

const COMPARED: readonly { workload: WorkloadName; connections: number; picks: Partial<Record<PerfRowId, Pick>> }[] = [
  { workload: 'paid lookup', connections: 1, picks: { 'former p50': p50, 'former alone': cpu } },
  { workload: 'paid lookup', connections: 64, picks: { 'former cpu': cpu, 'former rate': rate } },
  { workload: 'quote', connections: 16, picks: { 'former quote': cpu } },
  { workload: 'replay', connections: 16, picks: { 'former replay': cpu } },
  { workload: 'batch of 100 lookups', connections: 4, picks: { 'former batch': cpu } },
  { workload: 'search', connections: 16, picks: { 'former search': cpu } },
]
/** For the workloads after the lookups, whose sales have warmed both services. A batch costs about as much as ten. */
const WARM_UP_SHARE = 0.1

export async function measureFormer(context: PerfContext): Promise<PerfRow[]> {
  const { former, size, register } = context
  if (former === undefined) return []
  const starts: Map<string, LoadResult[]>[][] = []
  for (let start = 0; start < STARTS; start += 1) {
    const directory = join(context.directory, `start-${start}`)
    await mkdir(directory)
    await using bench = await openHttpBench({ ...context, directory }, former)
    const sides = { [SERVICE]: { server: SERVICE }, [FORMER]: { server: FORMER } }
    const found: (typeof starts)[number] = []
    for (const { workload, connections } of COMPARED) {
      const warmUpSales = workload === 'paid lookup' ? size.warmUpSales : Math.ceil(size.warmUpSales * WARM_UP_SHARE)
      found.push(await measureRounds(bench, { workload, connections, size: { ...size, warmUpSales }, sides }))
    }
    starts.push(found)
  }
  const rows = COMPARED.flatMap(({ picks }, at) =>
    Object.entries(picks).map(([id, pick]) => {
      const best = (side: string) => {
        const rounds = starts.flatMap((found) => found[at]?.get(side) ?? [])
        return (pick === rate ? Math.max : Math.min)(...rounds.map(pick))
      }
      return withBaseline(id as PerfRowId, best(SERVICE), { name: FORMER, value: best(FORMER) })
    }),
  )
  return [...rows, await measureImports(former, (await register(size.registerRows)).archive, context)]
}

async function measureImports(former: string, dataset: string, { size, directory }: PerfContext): Promise<PerfRow> {
  const seconds: { own: number; former: number }[] = []
  for (let round = 0; round < size.rounds; round += 1) {
    const run = async (side: string, tree?: string) =>
      (await runImport(dataset, join(directory, `${side}-${round}`), tree)).cpuSeconds
    seconds.push({ own: await run('own'), former: await run('former', former) })
  }
  return {
    id: 'former import',
    value: median(seconds.map(({ own }) => own)),
    baseline: { name: FORMER, value: median(seconds.map((each) => each.former)) },
    ratio: median(seconds.map((each) => each.own / each.former)),
  }
}
