/** Gauges of the state of a service, read at each scrape: dataset, open payments, rate limit. */
import { listDoubts } from '../../settlement/doubts.ts'
import type { Catalog } from '../../../store/dataset/catalog.ts'
import type { ResponseLog } from '../../../store/log/responses.ts'
import type { Timer } from '../../../store/base/runtime.ts'
import type { AddressBudgets } from '../../sale/limits/address-budget.ts'
import type { WorkQueue } from '../../sale/limits/work-queue.ts'
import type { Chain } from '../../settlement/chain/chain.ts'
import type { RelayerFunds } from '../../settlement/facilitator/in-process-facilitator.ts'
import { withDeadline } from '../../settlement/rpc/deadline.ts'
import type { ServiceMetrics } from './metrics.ts'

/** A value of the response log that takes longer is absent, so that a scrape does not wait for a lost database. */
const LOG_MS_MAX = 1_000
/** For a value of the chain. By default a scrape by Prometheus has ten seconds. */
const CHAIN_MS_MAX = 2_500
const WEI_PER_ETHER = 1e18

interface ServiceState {
  config: { rateLimitPerMinute: number }
  externals: { chain: Chain; relayerFunds?: () => Promise<RelayerFunds> }
  catalog: Pick<Catalog, 'current'>
  log: ResponseLog
  budgets: AddressBudgets
  /** By name. */
  queues: Readonly<Record<string, WorkQueue>>
  lastBackup: () => { created_at: string; bytes: number; log_bytes?: number | undefined } | undefined
  lostLogLines?: () => number
  now: () => Date
  timer: Timer
}

export function addStateMetrics(metrics: ServiceMetrics, state: ServiceState): void {
  const { config, externals, catalog, log, budgets, now, timer, lostLogLines = () => 0 } = state
  const { chain, relayerFunds } = externals
  metrics.addGauge(
    'company_agent_dataset_age_seconds',
    'Time since the last successful retrieval of the dataset; absent without a dataset',
    () => {
      const retrievedAt = catalog.current()?.source.retrieved_at
      return retrievedAt === undefined ? undefined : (now().getTime() - Date.parse(retrievedAt)) / 1000
    },
  )
  metrics.addGauge(
    'company_agent_dataset_companies',
    'Companies of the current snapshot; 0 without a dataset',
    () => catalog.current()?.snapshot.info.company_count ?? 0,
  )
  metrics.addGauge(
    'company_agent_sales_last_minute',
    'Sales that count in the limit, of all processes',
    inTime(timer, LOG_MS_MAX, () => log.countSales()),
  )
  metrics.addGauge(
    'company_agent_sales_per_minute_max',
    'Sales that are allowed in a minute (RATE_LIMIT_PER_MINUTE)',
    () => config.rateLimitPerMinute,
  )
  metrics.addGauge(
    'company_agent_addresses_without_budget',
    'Client addresses that have spent their budget, of this process',
    () => budgets.countSpent(),
  )
  metrics.addGauge(
    'company_agent_queue_entries',
    'Requests that wait for a place, by queue',
    async () => Object.entries(state.queues).map(([name, { waiting }]) => [name, waiting]),
    'queue',
  )
  metrics.addGauge(
    'company_agent_clock_wrong',
    'Whether the local clock is wrong, as far as the last observations of the chain show',
    () => (chain.isClockWrong() ? 1 : 0),
  )
  metrics.addGauge(
    'company_agent_nodes_unusable',
    'Nodes of RPC_URL that have given no usable answer for a minute',
    () => chain.unusableNodes().length,
  )
  metrics.addGauge(
    'company_agent_log_lines_lost',
    'Log lines of this process that did not fit into the buffer, because stderr was not read',
    lostLogLines,
  )
  addBackupMetrics(metrics, state)
  addPaymentMetrics(metrics, state)
  if (relayerFunds) addRelayerMetrics(metrics, relayerFunds, timer)
}

/** Absent without a backup of this directory. */
function addBackupMetrics(metrics: ServiceMetrics, { lastBackup, now }: ServiceState): void {
  metrics.addGauge('company_agent_backup_age_seconds', 'Time since the last complete backup', () => {
    const last = lastBackup()
    return last && (now().getTime() - Date.parse(last.created_at)) / 1000
  })
  metrics.addGauge('company_agent_backup_bytes', 'Size of the last complete backup', () => lastBackup()?.bytes)
  metrics.addGauge(
    'company_agent_backup_log_bytes',
    'Size of the response log in the full backup that the last one is or builds on',
    () => lastBackup()?.log_bytes,
  )
}

function addPaymentMetrics(metrics: ServiceMetrics, { log, timer }: ServiceState): void {
  metrics.addGauge(
    'company_agent_payments_without_record',
    'Payments that the chain shows as settled and that have no record; the answer to them is 409',
    inTime(timer, LOG_MS_MAX, async () => (await log.unrecorded()).length),
  )
  metrics.addGauge(
    'company_agent_settlements_missing',
    'Payments that a facilitator reported as settled and that are not on chain; its others wait for the chain',
    inTime(timer, LOG_MS_MAX, async () => (await listDoubts(log)).length),
  )
  metrics.addGauge(
    'company_agent_open_payments',
    'Payments whose outcome is not final, by state',
    inTime(timer, LOG_MS_MAX, () => log.countUnfinished()),
    'state',
  )
}

function addRelayerMetrics(metrics: ServiceMetrics, readFunds: () => Promise<RelayerFunds>, timer: Timer): void {
  metrics.addGauge(
    'company_agent_relayer_balance_ether',
    'Balance that pays for the gas of settlements; absent while the chain does not answer',
    inTime(timer, CHAIN_MS_MAX, async () => Number((await readFunds()).wei) / WEI_PER_ETHER),
  )
  metrics.addGauge(
    'company_agent_relayer_settlements_left',
    'Settlements that the balance of the relayer pays for; absent while the chain does not answer',
    inTime(timer, CHAIN_MS_MAX, async () => Number((await readFunds()).settlements)),
  )
}

/** Scrapes share one read, so that they do not take all connections of a slow database. */
function inTime<Value>(timer: Timer, milliseconds: number, read: () => Promise<Value>): () => Promise<Value> {
  let running: Promise<Value> | undefined
  return () => withDeadline({ timer, milliseconds }, () => (running ??= read().finally(() => (running = undefined))))
}
