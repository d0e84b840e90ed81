/** A quote (402) over HTTP, beside a bare server that sends as many bytes and beside `@x402/express`. */
import { BARE, BARE_PATHS, compareRounds, measureRounds, SERVICE, STOCK, type HttpBench } from './http-rounds.ts'
import type { PerfRow, PerfSize } from './perf-row.ts'

export async function measureQuote(bench: HttpBench, size: PerfSize): Promise<PerfRow[]> {
  const sides = {
    [SERVICE]: { server: SERVICE },
    [BARE]: { server: BARE, replace: { path: BARE_PATHS.quote } },
    [STOCK]: { server: STOCK },
  }
  const alone = await measureRounds(bench, { workload: 'quote', connections: 1, size, sides })
  const many = await measureRounds(bench, { workload: 'quote', connections: 16, size, sides })
  return [
    compareRounds(alone, { id: 'quote p50', baseline: BARE, pick: ({ p50 }) => p50 }),
    compareRounds(many, { id: 'quote cpu', baseline: BARE, pick: ({ cpuMicroseconds }) => cpuMicroseconds }),
    compareRounds(many, { id: 'quote express', baseline: STOCK, pick: ({ cpuMicroseconds }) => cpuMicroseconds }),
  ]
}
