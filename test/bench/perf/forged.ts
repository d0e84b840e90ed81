/** A refusal (402) of a forged payment over HTTP, beside the quote of the same request without a payment. */
import { FORGERIES } from '../load/forgeries.ts'
import { PAYMENT_HEADERS } from '../../../agent/payment/terms.ts'
import type { PerfRowId } from '../targets.ts'
import { compareRounds, measureRounds, SERVICE, type HttpBench } from './http-rounds.ts'
import type { PerfRow, PerfSize } from './perf-row.ts'

const QUOTE = 'quote'

export async function measureForged(bench: HttpBench, size: PerfSize): Promise<PerfRow[]> {
  const forged = Object.entries(FORGERIES).map(([id, header]) => {
    const headers = { [PAYMENT_HEADERS.request]: header }
    return [id as PerfRowId, { server: SERVICE, replace: { headers } }] as const
  })
  const sides = { [QUOTE]: { server: SERVICE }, ...Object.fromEntries(forged) }
  const results = await measureRounds(bench, { workload: 'quote', connections: 16, size, sides })
  return forged.map(([id]) =>
    compareRounds(results, { id, side: id, baseline: QUOTE, pick: ({ cpuMicroseconds }) => cpuMicroseconds }),
  )
}
