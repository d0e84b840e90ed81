/** Gauges of the state of a service, read at each scrape: dataset, open payments, rate limit. */
import type { Catalog } from '../../../store/dataset/catalog.ts'
import type { ResponseLog } from '../../../store/log/responses.ts'
import { withDeadline } from '../../../base/deadline.ts'
import type { Timer } from '../../../base/runtime.ts'
import type { AddressBudgets } from '../../sale/limits/address-budget.ts'
import type { SalesLimit } from '../../sale/limits/sales-limit.ts'
import type { WorkQueue } from '../../sale/limits/work-queue.ts'
import type { CheckRunner } from '../checks/runner.ts'
import type { ServiceMetrics } from './metrics.ts'

/** A value of the response log that takes longer is absent, so that a scrape does not wait for a lost database. */
const LOG_MS_MAX = 1_000
/** By default a scrape by Prometheus has ten seconds. */
const CHECKS_MS_MAX = 2_500

interface ServiceState {
  catalog: Pick<Catalog, 'current'>
  log: ResponseLog
  sales: SalesLimit
  budgets: AddressBudgets
  /** By name. */
  queues: Readonly<Record<string, WorkQueue>>
  checks: Pick<CheckRunner, 'alerts'>
  now: () => Date
  timer: Timer
}

export function addStateMetrics(metrics: ServiceMetrics, state: ServiceState): void {
  const { catalog, log, sales, budgets, queues, checks, now, timer } = state
  // Both gauges of a scrape show one measurement.
  const alerts = inTime(timer, CHECKS_MS_MAX, () => checks.alerts())
  type Alert = Awaited<ReturnType<typeof alerts>>[number]
  const eachAlert = async (valueOf: (alert: Alert) => number) =>
    (await alerts()).map((alert) => [{ check: alert.label, severity: alert.severity }, valueOf(alert)] as const)
  metrics.addGauge(
    'company_agent_check_ok',
    'Whether each check passes, by the severity of its alert: 1 or 0',
    () => eachAlert(({ isFailing }) => (isFailing ? 0 : 1)),
    ['check', 'severity'],
  )
  metrics.addGauge(
    'company_agent_check_failing_seconds',
    'Since when each check fails; 0 if it passes',
    () => eachAlert(({ seconds }) => seconds),
    ['check', 'severity'],
  )
  metrics.addGauge(
    'company_agent_dataset_age_seconds',
    'Time since the last successful retrieval of the dataset; absent without a dataset',
    () => {
      const retrievedAt = catalog.current()?.source.retrieved_at
      return retrievedAt === undefined ? undefined : (now().getTime() - Date.parse(retrievedAt)) / 1000
    },
  )
  metrics.addGauge('company_agent_sales_last_minute', 'Sales that count in the limit, of this process', () =>
    sales.count(),
  )
  metrics.addGauge(
    'company_agent_addresses_without_budget',
    'Client addresses that have spent their budget, of this process',
    () => budgets.countSpent(),
  )
  metrics.addGauge(
    'company_agent_queue_entries',
    'Requests that wait for a place, by queue',
    () => Object.entries(queues).map(([queue, { waiting }]) => [{ queue }, waiting]),
    ['queue'],
  )
  metrics.addGauge(
    'company_agent_open_payments',
    'Payments whose outcome is not final, by state',
    inTime(timer, LOG_MS_MAX, async () =>
      [...(await log.count())].map(([payment, count]) => [{ state: payment }, count] as const),
    ),
    ['state'],
  )
}

/** Scrapes share one read, so that they do not take all connections of a slow database. */
function inTime<Value>(timer: Timer, milliseconds: number, read: () => Promise<Value>): () => Promise<Value> {
  let running: Promise<Value> | undefined
  return () => withDeadline({ timer, milliseconds }, () => (running ??= read().finally(() => (running = undefined))))
}
