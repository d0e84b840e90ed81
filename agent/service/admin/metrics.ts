/** The Prometheus metrics of a service: its counters and histograms. docs/operations.md lists the metrics. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ResponseRecord } from '../../../store/log/record.ts'
import { A2A_PATH, FREE_PATHS, MCP_PATH, TESTNET_PATHS } from '../../operation/endpoints.ts'
import type { Outcome } from '../../operation/outcome.ts'
import { priceKey } from '../../operation/operation.ts'
import { OPERATIONS } from '../../operation/operations.ts'
import { findRoute } from '../../operation/resource.ts'
import { toUsdc } from '../../payment/terms.ts'

/** From a cached quote to the longest sale. */
const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 90]

/** Any other path is counted as this route, so a client cannot create labels. */
const OTHER_ROUTE = 'other'
const FIXED_ROUTES: ReadonlySet<string> = new Set([
  A2A_PATH,
  MCP_PATH,
  ...Object.values(FREE_PATHS),
  ...Object.values(TESTNET_PATHS),
])

/** A number, or one for each value of the labels. */
type GaugeValue = number | Iterable<readonly [labels: Record<string, string>, number]> | undefined

export class ServiceMetrics {
  readonly registry = new Registry()
  readonly #requests = this.#counter(
    'company_agent_http_requests_total',
    ['route', 'method', 'status'],
    'Answered HTTP requests',
  )
  readonly #requestSeconds = this.#histogram(
    'company_agent_http_request_duration_seconds',
    ['route'],
    'Time from the headers of a request to the end of its answer',
  )
  readonly #stepSeconds = this.#histogram(
    'company_agent_step_duration_seconds',
    ['step', 'result'],
    'Time of a call to the response log, the facilitator or the chain',
  )
  readonly #revenue = this.#counter(
    'company_agent_revenue_usdc_total',
    [],
    'Amounts of the payments that became confirmed, in USDC',
  )
  readonly #events = this.#counter('company_agent_events_total', ['event'], 'Log events of failures, by event')
  readonly #outcomes = this.#counter(
    'company_agent_operation_outcomes_total',
    ['operation', 'outcome'],
    'Requests for an operation over all transports, by answer or code of the refusal',
  )

  /** The other default metrics of prom-client cost more than a scrape may (`bench perf`, "scrape"). */
  constructor() {
    this.addGauge('process_resident_memory_bytes', 'Resident memory of the process', () => process.memoryUsage.rss())
    // The name and the value of prom-client.
    const startedAt = Math.round(Date.now() / 1_000 - process.uptime())
    this.addGauge('process_start_time_seconds', 'Start of the process, in seconds since 1970', () => startedAt)
    const delay = monitorEventLoopDelay()
    delay.enable()
    this.addGauge('nodejs_eventloop_lag_p99_seconds', 'p99 of the delay of timers since the last scrape', () => {
      const seconds = delay.percentile(99) / 1e9
      delay.reset()
      return seconds
    })
  }

  #counter(name: string, labelNames: string[], help: string): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] })
  }

  #histogram(name: string, labelNames: string[], help: string): Histogram {
    return new Histogram({ name, help, labelNames, buckets: SECONDS_BUCKETS, registers: [this.registry] })
  }

  /** Counts a paid, refused or quoted request of any transport. */
  countOutcome(operation: string, outcome: Outcome): void {
    this.#outcomes.inc({ operation, outcome: outcome.kind === 'answer' ? 'answer' : outcome.refusal.code })
  }

  countEvent(event: string): void {
    this.#events.inc({ event })
  }

  /**
   * Registers a gauge that is read at each scrape. An undefined value is absent. While the response log cannot be read,
   * the other metrics are still shown.
   */
  addGauge(
    name: string,
    help: string,
    read: () => GaugeValue | Promise<GaugeValue>,
    labelNames: readonly string[] = [],
  ): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames,
      registers: [this.registry],
      async collect() {
        gauge.reset()
        // Without labels, `reset` sets 0.
        if (labelNames.length === 0) gauge.remove()
        const value = await Promise.resolve()
          .then(read)
          .catch(() => undefined)
        if (typeof value === 'number') gauge.set(value)
        else for (const [labels, count] of value ?? []) gauge.set(labels, count)
      },
    })
  }

  /** Express middleware that runs before a request is routed. */
  observeRequests() {
    return (request: IncomingMessage, response: ServerResponse, next: () => void) => {
      const start = performance.now()
      const route = routeOf(request.url ?? '')
      response.once('finish', () => {
        this.#requests.inc({ route, method: methodOf(request.method ?? ''), status: response.statusCode })
        this.#requestSeconds.observe({ route }, (performance.now() - start) / 1000)
      })
      next()
    }
  }

  countStep({ step, seconds, cause }: { step: string; seconds: number; cause?: unknown }): void {
    this.#stepSeconds.observe({ step, result: cause === undefined ? 'done' : 'failed' }, seconds)
  }

  countRevenue({ state, requirements }: ResponseRecord): void {
    if (state === 'confirmed') this.#revenue.inc(toUsdc(Number(requirements['amount'])))
  }
}

function routeOf(target: string): string {
  const [path = ''] = target.split('?', 1)
  const paid = findRoute(path, OPERATIONS)
  if (paid) return priceKey(paid.definition)
  const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  return FIXED_ROUTES.has(trimmed) ? trimmed : OTHER_ROUTE
}

/** Node accepts about 30 methods. */
function methodOf(method: string): string {
  return ['GET', 'HEAD', 'POST', 'OPTIONS'].includes(method) ? method : 'other'
}
