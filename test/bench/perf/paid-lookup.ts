/** A lookup with a new payment, beside a bare server with two durable transactions and beside `@x402/express`. */
import {
  BARE,
  BARE_PATHS,
  compareRounds,
  DURABLE,
  measureRounds,
  SERVICE,
  STOCK,
  type HttpBench,
} from './http-rounds.ts'
import type { PerfRow, PerfSize } from './perf-row.ts'
import { measureReceipt } from './receipt.ts'

export async function measurePaidLookup(bench: HttpBench, size: PerfSize): Promise<PerfRow[]> {
  const sides = {
    [SERVICE]: { server: SERVICE },
    [BARE]: { server: BARE, replace: { path: BARE_PATHS.sold } },
    [DURABLE]: { server: BARE, replace: { path: BARE_PATHS.durable } },
    [STOCK]: { server: STOCK },
  }
  const alone = await measureRounds(bench, { workload: 'paid lookup', connections: 1, size, sides })
  const many = await measureRounds(bench, { workload: 'paid lookup', connections: 64, size, sides })
  const paidCpu = compareRounds(many, {
    id: 'paid cpu',
    baseline: BARE,
    pick: ({ cpuMicroseconds }) => cpuMicroseconds,
  })
  return [
    compareRounds(alone, { id: 'paid p50', baseline: DURABLE, pick: ({ p50 }) => p50 }),
    paidCpu,
    ...(await measureReceipt(bench, size, paidCpu.value)),
    compareRounds(many, { id: 'paid express', baseline: STOCK, pick: ({ cpuMicroseconds }) => cpuMicroseconds }),
  ]
}
