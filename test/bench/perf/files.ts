/**
 * The files of `bench perf`. Each runs in a process of its own (`perf.ts`) and has a service of its own. Otherwise the
 * heap, the response log and the compiled code of one file would slow the next.
 */
import { measureBatch } from './batch.ts'
import { measureFormer } from './former.ts'
import { measureHistory } from './history.ts'
import { openHttpBench, type HttpBench } from './http-rounds.ts'
import { measureList } from './list.ts'
import { measureLogWrites } from './log-writes.ts'
import { measureSearch, measureSearchMillion } from './names.ts'
import { measurePageList } from './page-list.ts'
import { measurePaidLookup } from './paid-lookup.ts'
import type { MeasureRows, PerfContext, PerfRow, PerfSize } from './perf-row.ts'
import { measureForged, measureMcp, measureQuote, measureRefused, measureReplay, measureScrape } from './requests.ts'

export const PERF_SIZES: Record<string, PerfSize> = {
  full: {
    // With five rounds, a disturbance of one or two of them does not change the median.
    rounds: 5,
    requestShare: 1,
    warmUpRequests: 8_000,
    warmUpSales: 6_000,
    registerRows: 100_000,
    queries: 1_000,
    importRows: 1_000_000,
  },
  // Shows that every row can be measured.
  ci: {
    rounds: 2,
    requestShare: 0.02,
    warmUpRequests: 20,
    warmUpSales: 20,
    registerRows: 30_000,
    queries: 20,
    importRows: 5_000,
  },
}

const measureImport: MeasureRows = async ({ size, register }) => {
  const { cost } = await register(size.importRows)
  if (cost.rows !== size.importRows) throw new Error(`${cost.rows} of ${size.importRows} rows were imported`)
  return [
    { id: 'import cpu', value: cost.cpuSeconds },
    { id: 'import memory', value: cost.memory },
  ]
}

/** The files that ask a running service. */
const HTTP_FILES: Record<string, (bench: HttpBench, context: PerfContext) => Promise<PerfRow[]>> = {
  quote: measureQuote,
  forged: measureForged,
  refused: measureRefused,
  scrape: measureScrape,
  replay: measureReplay,
  'paid-lookup': measurePaidLookup,
  mcp: measureMcp,
  batch: measureBatch,
  list: measureList,
}

const OTHER_FILES: Record<string, MeasureRows> = {
  former: measureFormer,
  search: measureSearch,
  'search-million': measureSearchMillion,
  import: measureImport,
  history: measureHistory,
  'log-writes': measureLogWrites,
  'page-list': measurePageList,
}

export const PERF_FILES: readonly string[] = [...Object.keys(HTTP_FILES), ...Object.keys(OTHER_FILES)]

export async function measureFile(file: string, context: PerfContext): Promise<PerfRow[]> {
  const rowsOf = HTTP_FILES[file]
  if (!rowsOf) return (await OTHER_FILES[file]?.(context)) ?? []
  await using bench = await openHttpBench(context)
  return await rowsOf(bench, context)
}
