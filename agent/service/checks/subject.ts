/** What the checks measure: a configuration with its data and remote services, and the running service, if any. */
import type { ResponseLog } from '../../../store/log/responses.ts'
import type { Catalog } from '../../../store/dataset/catalog.ts'
import type { Journal } from '../../../store/history/journal.ts'
import type { Fetch } from '../../../base/bounded-fetch.ts'
import type { Chain } from '../../settlement/chain/chain.ts'
import type { Config } from '../config.ts'
import type { startDailyRetrieval } from '../dataset.ts'

/** `failed`: a sale would fail. `warning`: sales work now, and something should be changed. */
export interface Finding {
  kind: 'passed' | 'warning' | 'failed'
  /** One line: what was found, and what to do. It may contain text of other parties. */
  detail: string
  /** Which one of several nodes or facilitators. Counted from 1, because a URL can hold a key. */
  part?: number
}

/** The findings of each of several, numbered. */
export const numbered = (each: readonly (readonly Finding[])[]): Finding[] =>
  each.flatMap((findings, index) => findings.map(({ kind, detail }) => ({ kind, detail, part: index + 1 })))

export const passed = (detail: string): Finding[] => [{ kind: 'passed', detail }]
export const warning = (detail: string): Finding[] => [{ kind: 'warning', detail }]
export const failed = (detail: string): Finding[] => [{ kind: 'failed', detail }]

/** `node 2`: the name of a finding in lines and gauges. */
export const labelOf = (name: string, { part }: Finding) => (part === undefined ? name : `${name} ${part}`)

/** What only a running service knows. What has not started yet is absent. */
export interface Running {
  isOpen: () => boolean
  areSalesFailing: () => boolean
  areLogLinesLost: () => boolean
  /** Whether this process has reported the event within the last hour. */
  hasReported: (event: string) => boolean
  keys?: { fault: () => string | undefined }
  retrieval?: Awaited<ReturnType<typeof startDailyRetrieval>>
  reconciler?: Record<'hasOld' | 'hasUnexplained' | 'hasDamaged', () => boolean>
}

/** For one request. Nodes and facilitators can be slow and work. */
export const REQUEST_MS_MAX = 10_000

export const limited =
  (fetch: Fetch): Fetch =>
  (url, init) =>
    fetch(url, { ...init, signal: AbortSignal.timeout(REQUEST_MS_MAX) })

export interface Subject {
  config: Config
  now: () => Date
  random: () => number
  /** Limited in time. */
  fetch: Fetch
  /** Undefined if only the sandbox knows it, and does not run. */
  payTo: string | undefined
  /** Undefined without a log. Rejects if it cannot be opened. */
  log: () => Promise<ResponseLog | undefined>
  /** Undefined if there is none. */
  catalog: () => Catalog | undefined
  /** Throws a StoreError if there is none. */
  journal: () => Journal
  /** Undefined if the sandbox is not running. */
  chain: Chain | undefined
  /** How many settlements the relayer can pay for. Undefined without a relayer. */
  settlementsLeft: (() => Promise<bigint>) | undefined
  running?: Running
}
