/** One measured row of `perf`, and what its file needs to measure it. */
import type { ImportedRegister } from '../generated-register.ts'
import type { PerfRowId } from '../targets.ts'

export interface PerfSize {
  /** Rounds in which the service and its baselines are measured in turn. */
  rounds: number
  /** Share of a workload's requests in each round. */
  requestShare: number
  /** Requests before the first round, so that V8 has compiled what they run. */
  warmUpRequests: number
  /** The same of requests that are sold: the response log and the reconciler then work as in a busy service. */
  warmUpSales: number
  /** Companies in the register of the HTTP and search rows. */
  registerRows: number
  /** Queries of each kind. */
  queries: number
  /** Rows of the import and of the largest search. */
  importRows: number
}

export interface PerfContext {
  size: PerfSize
  /** A temporary directory for everything that rows leave on disk. */
  directory: string
  /** A register with this many rows. All files share it. */
  register: (rows: number) => Promise<ImportedRegister>
  /** The tree of a former release, built. */
  former: string | undefined
}

export interface PerfRow {
  id: PerfRowId
  value: number
  baseline?: { name: string; value: number }
  /** To the baseline: a median over rounds where there are any. */
  ratio?: number
}

export function withBaseline(id: PerfRowId, value: number, baseline: { name: string; value: number }): PerfRow {
  return { id, value, baseline, ratio: value / baseline.value }
}

export type MeasureRows = (context: PerfContext) => Promise<PerfRow[]>
