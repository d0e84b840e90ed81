/** A lookup with a new payment over MCP, beside the same over REST. */
import { CALLS_MAX } from '../../../agent/limits/call-limit.ts'
import { compareRounds, measureRounds, SERVICE, type HttpBench } from './http-rounds.ts'
import type { PerfRow, PerfSize } from './perf-row.ts'

const REST = 'paid lookup over REST'

export async function measureMcp(bench: HttpBench, size: PerfSize): Promise<PerfRow[]> {
  const sides = {
    [SERVICE]: { server: SERVICE, workload: 'paid lookup over MCP' },
    [REST]: { server: SERVICE },
  } as const
  const alone = await measureRounds(bench, { workload: 'paid lookup', connections: 1, size, sides })
  const many = await measureRounds(bench, { workload: 'paid lookup', connections: CALLS_MAX, size, sides })
  return [
    compareRounds(alone, { id: 'mcp p50', baseline: REST, pick: ({ p50 }) => p50 }),
    compareRounds(many, { id: 'mcp cpu', baseline: REST, pick: ({ cpuMicroseconds }) => cpuMicroseconds }),
  ]
}
