/** A stored response, requested again with its payment, beside a bare server that sends as many bytes. */
import { BARE, BARE_PATHS, compareRounds, measureRounds, SERVICE, type HttpBench } from './http-rounds.ts'
import type { PerfRow, PerfSize } from './perf-row.ts'

export async function measureReplay(bench: HttpBench, size: PerfSize): Promise<PerfRow[]> {
  const sides = { [SERVICE]: { server: SERVICE }, [BARE]: { server: BARE, replace: { path: BARE_PATHS.sold } } }
  const alone = await measureRounds(bench, { workload: 'replay', connections: 1, size, sides })
  const many = await measureRounds(bench, { workload: 'replay', connections: 16, size, sides })
  return [
    compareRounds(alone, { id: 'replay p50', baseline: BARE, pick: ({ p50 }) => p50 }),
    compareRounds(many, { id: 'replay cpu', baseline: BARE, pick: ({ cpuMicroseconds }) => cpuMicroseconds }),
  ]
}
