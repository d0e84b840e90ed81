/**
 * Requests over HTTP beside their baselines: quotes, forged payments, stored responses that are requested again, and
 * lookups over MCP.
 */
import { CALLS_MAX } from '../../../agent/transport/call-limits.ts'
import { PAYMENT_HEADERS } from '../../../agent/payment/terms.ts'
import type { LoadRequest } from '../load/client.ts'
import type { ServerProcess } from '../load/server-process.ts'
import { FORGERIES } from '../load/forgeries.ts'
import { BATCH_PATH, REFUSED_BODIES } from '../load/refused-bodies.ts'
import type { PerfRowId } from '../targets.ts'
import {
  BARE,
  BARE_PATHS,
  compareRounds,
  cpu,
  EXPRESS,
  measureRounds,
  p50,
  SERVICE,
  type HttpBench,
} from './http-rounds.ts'
import type { PerfContext, PerfRow } from './perf-row.ts'

const QUOTE = 'quote'
const METRICS = 'metrics of the service'
const REST = 'paid lookup over REST'

/** Beside bare servers that send as many bytes. */
export async function measureQuote(bench: HttpBench, { size }: PerfContext): Promise<PerfRow[]> {
  const sides = {
    [SERVICE]: { server: SERVICE },
    [BARE]: { server: BARE, replace: { path: BARE_PATHS.quote } },
    [EXPRESS]: { server: EXPRESS, replace: { path: BARE_PATHS.quote } },
  }
  const alone = await measureRounds(bench, { workload: 'quote', connections: 1, size, sides })
  const many = await measureRounds(bench, { workload: 'quote', connections: 16, size, sides })
  return [
    compareRounds(alone, { id: 'quote p50', baseline: BARE, pick: p50 }),
    compareRounds(many, { id: 'quote cpu', baseline: BARE, pick: cpu }),
    compareRounds(many, { id: 'quote express', baseline: EXPRESS, pick: cpu }),
  ]
}

/** A scrape of the metrics beside a quote. */
export async function measureScrape(bench: HttpBench, { size }: PerfContext): Promise<PerfRow[]> {
  const service = bench.servers.get(SERVICE) as ServerProcess
  const servers = new Map([...bench.servers, [METRICS, { ...service, url: bench.adminUrl }]])
  const sides = {
    [METRICS]: { server: METRICS, replace: { path: '/metrics', status: 200 } },
    [QUOTE]: { server: SERVICE },
  }
  const results = await measureRounds({ ...bench, servers }, { workload: 'quote', connections: 1, size, sides })
  return [compareRounds(results, { id: 'scrape cpu', side: METRICS, baseline: QUOTE, pick: cpu })]
}

/** Refusals (402) beside the quote of the same request without a payment. */
export async function measureForged(bench: HttpBench, { size }: PerfContext): Promise<PerfRow[]> {
  const forged = Object.entries(FORGERIES).map(([id, header]) => {
    const headers = { [PAYMENT_HEADERS.request]: header }
    return [id as PerfRowId, { server: SERVICE, replace: { headers } }] as const
  })
  const sides = { [QUOTE]: { server: SERVICE }, ...Object.fromEntries(forged) }
  const results = await measureRounds(bench, { workload: 'quote', connections: 16, size, sides })
  return forged.map(([id]) => compareRounds(results, { id, side: id, baseline: QUOTE, pick: cpu }))
}

/** Refusals (400, 413) of a batch beside a quote. */
export async function measureRefused(bench: HttpBench, { size }: PerfContext): Promise<PerfRow[]> {
  const refused = Object.entries(REFUSED_BODIES).map(([id, { status, body }]) => {
    const headers = { 'Content-Type': 'application/json' }
    return [id as PerfRowId, { server: SERVICE, replace: { method: 'POST', path: BATCH_PATH, headers, status, body } }]
  }) as [PerfRowId, { server: string; replace: Partial<LoadRequest> }][]
  const sides = { [QUOTE]: { server: SERVICE }, ...Object.fromEntries(refused) }
  const results = await measureRounds(bench, { workload: 'quote', connections: 16, size, sides })
  return refused.map(([id]) => compareRounds(results, { id, side: id, baseline: QUOTE, pick: cpu }))
}

/** Beside a bare server that sends as many bytes. */
export async function measureReplay(bench: HttpBench, { size }: PerfContext): Promise<PerfRow[]> {
  const sides = { [SERVICE]: { server: SERVICE }, [BARE]: { server: BARE, replace: { path: BARE_PATHS.sold } } }
  const results = await measureRounds(bench, { workload: 'replay', connections: 1, size, sides })
  return [compareRounds(results, { id: 'replay p50', baseline: BARE, pick: p50 })]
}

/** Beside the same over REST. */
export async function measureMcp(bench: HttpBench, { size }: PerfContext): Promise<PerfRow[]> {
  const sides = {
    [SERVICE]: { server: SERVICE, workload: 'paid lookup over MCP' },
    [REST]: { server: SERVICE },
  } as const
  const results = await measureRounds(bench, { workload: 'paid lookup', connections: CALLS_MAX, size, sides })
  return [compareRounds(results, { id: 'mcp cpu', baseline: REST, pick: cpu })]
}
