/** The operations that no other row compares with the former release, and the import, beside that release. */
import { join } from 'node:path'
import type { WorkloadName } from '../load/workloads.ts'
import { runImport } from '../generated-register.ts'
import { median } from '../statistics.ts'
import type { PerfRowId } from '../targets.ts'
import { compareWithFormer, cpu, FORMER, formerSide, measureRounds, SERVICE, type HttpBench } from './http-rounds.ts'
import type { PerfContext, PerfRow } from './perf-row.ts'

const COMPARED: readonly (readonly [PerfRowId, WorkloadName, connections: number])[] = [
  ['former quote', 'quote', 16],
  ['former replay', 'replay', 16],
  ['former batch', 'batch of 100 lookups', 4],
  ['former search', 'search', 16],
]
/** Of the sales before the first round. A batch costs about as much as ten. */
const WARM_UP_SHARE = 0.1

export async function measureFormer(bench: HttpBench, context: PerfContext): Promise<PerfRow[]> {
  const { former } = context
  if (former === undefined) return []
  const size = { ...context.size, warmUpSales: Math.ceil(context.size.warmUpSales * WARM_UP_SHARE) }
  const sides = { [SERVICE]: { server: SERVICE }, ...formerSide(bench) }
  const rows: PerfRow[] = []
  for (const [id, workload, connections] of COMPARED)
    rows.push(...compareWithFormer(await measureRounds(bench, { workload, connections, size, sides }), { [id]: cpu }))
  return [...rows, await measureImports(former, bench.dataset, context)]
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
