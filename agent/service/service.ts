/** Creates the parts of the service, starts them in order, and stops them in reverse order. */
import { setMaxListeners } from 'node:events'
import { createApp } from '../../rest-facade/app.ts'
import { Catalog, type Dataset } from '../../store/dataset/catalog.ts'
import { Journal } from '../../store/history/journal.ts'
import type { Report, Timer } from '../../base/runtime.ts'
import { LogOwnership, ownerOf } from '../../store/log/owner.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import { openServiceKeys, checkReceiptKeys } from './card-keys.ts'
import { agentCard } from '../transport/a2a/card.ts'
import { helpText } from '../transport/a2a/help.ts'
import { Instrumentation, type SaleLine } from './admin/instrumentation.ts'
import { ServiceMetrics } from './admin/metrics.ts'
import { startAdminServer } from './admin/server.ts'
import { addStateMetrics } from './admin/state-metrics.ts'
import { measure, CheckRunner } from './checks/runner.ts'
import { limited, type Running, type Subject } from './checks/subject.ts'
import { ConfigError, type Config } from './config.ts'
import type { Externals } from './externals.ts'
import { startDailyRetrieval, type RunImport } from './dataset.ts'
import { checkLogOwner, type AllowedChanges } from './check-log-owner.ts'
import { openConfiguredLog } from './response-log.ts'
import { startHttpServer, type HttpServerLimits } from './http-server.ts'
import { CompanyAgentExecutor } from '../sale/agent-executor.ts'
import type { SaleContext } from '../sale/sale-context.ts'
import { AddressBudgets } from '../sale/limits/address-budget.ts'
import { KeyedMutex } from '../sale/limits/keyed-mutex.ts'
import { PayerReservations } from '../sale/limits/payer-reservations.ts'
import { SalesLimit } from '../sale/limits/sales-limit.ts'
import { WorkQueue } from '../sale/limits/work-queue.ts'
import { OPERATIONS } from '../operation/operations.ts'
import { FREE_PATHS, TESTNET_PATHS } from '../operation/endpoints.ts'
import { FacilitatorDoubts } from '../settlement/doubts.ts'
import { RecentAttempts } from '../settlement/recent-attempts.ts'
import type { SettlementServices } from '../settlement/services.ts'
import { startReconciler } from '../settlement/reconciler.ts'
import { startRetention } from '../settlement/retention.ts'
import { buildTerms, DEPLOYMENTS, type Terms } from '../payment/terms.ts'
import { signReceipt as signReceiptWith } from '../payment/receipt/sign.ts'
import { openShownDataset } from '../answer/shown-dataset.ts'

/**
 * Payments that are verified at once. More than the sales a second of one process, times the seconds of a verification.
 */
const VERIFICATIONS_MAX = 64
/** The version that metadata, OpenAPI description and agent card state. The specification fixes it. */
const SERVICE_VERSION = '0.1.0'

interface ServiceOptions {
  config: Config
  externals: Externals
  /** Changes of the response log or of its receiver that the operator has announced. */
  allowed?: AllowedChanges
  /** Opens the response log; the configured one by default. */
  openLog?: (config: Config) => Promise<ResponseLog>
  runImport: RunImport
  /** Replaces limits of the HTTP server. */
  limits?: Partial<HttpServerLimits>
  now: () => Date
  /** Milliseconds of a clock that never goes back. */
  clock: () => number
  /** From 0 to below 1. It is not used for secrets. */
  random: () => number
  timer: Timer
  report: Report
  /** Called when another snapshot is served than before. */
  onDatasetChange?: (dataset: Dataset) => void
  /** Called at the end of each request with a payment. */
  onSale?: (line: SaleLine) => void
  /** Whether log lines were lost a short time ago. */
  areLogLinesLost?: () => boolean
}

type Closer = () => Promise<void> | void

export async function startService(given: ServiceOptions) {
  const { config, externals, clock, now, timer, onSale = () => undefined, areLogLinesLost = () => false } = given
  const metrics = config.admin && new ServiceMetrics()
  const instruments = new Instrumentation({ metrics, clock, report: given.report, onSale })
  const { report } = instruments
  const options = { ...given, report }
  const budgets = new AddressBudgets({ perMinute: config.addressBudget, clock })
  const sales = new SalesLimit({ perMinute: config.salesPerMinute, clock })
  const queues = { verifications: new WorkQueue(VERIFICATIONS_MAX), computations: new WorkQueue(1) }
  // The server starts first: the port is the most likely failure, and the base URL may contain it.
  const server = await startHttpServer({ config, limits: options.limits, budgets, clock, report })
  const { baseUrl, clients } = server
  const closers: Closer[] = []
  const stopping = new AbortController()
  // Each request that waits for the chain listens. Above ten, Node.js would print a warning.
  setMaxListeners(0, stopping.signal)
  let isOpen = false
  /** Before a stop: a load balancer sends no more requests. */
  const becomeUnready = () => void (isOpen = false)
  /** Stops accepting requests, finishes those in progress, and closes the stores. */
  const stop = async (): Promise<void> => {
    becomeUnready()
    stopping.abort()
    await server.close()
    for (const close of closers.splice(0).toReversed()) await close()
  }
  try {
    const running: Running = {
      isOpen: () => isOpen,
      areSalesFailing: () => instruments.areSalesFailing(),
      areLogLinesLost,
      hasReported: (event) => instruments.hasReported(event),
    }
    const { subject, catalog, journal, log, formerReceivers } = await openStores(options, running, closers)
    const admin = metrics && (await startAdmin(options, { metrics, catalog, log, sales, budgets, queues, subject }))
    if (admin) closers.push(() => admin.close())

    const keys = await openServiceKeys({ directory: config.keysDirectory, log, now, timer, report })
    running.keys = keys
    closers.push(() => keys.stop())
    const signReceipt: SettlementServices['signReceipt'] = async (claims) =>
      signReceiptWith({ iss: baseUrl, ...claims }, keys.keyring())
    const shown = openShownDataset(config.mode, () => catalog.current())
    const terms: Terms = {
      ...buildTerms(config.mode, externals.payTo, OPERATIONS, formerReceivers),
      get example() {
        return shown().exampleCompany
      },
    }
    const paymentMutex = new KeyedMutex()
    const context: SaleContext = {
      catalog,
      journal,
      terms,
      paymentMutex,
      ...queues,
      services: openSettlementServices(options, { log, signReceipt }),
      sales,
      payers: new PayerReservations(),
      stopSignal: stopping.signal,
    }
    const services = instruments.observe(context.services)
    const executor = new CompanyAgentExecutor({
      context,
      baseUrl,
      help: (text) => helpText(text, { baseUrl, terms }),
      trace: (sale, sell) => instruments.sell(sale, sell),
      onOutcome: (operation, outcome) => metrics?.countOutcome(operation, outcome),
    })
    closers.push(() => executor.drain())
    const { chain } = services
    closers.push(startRetention({ log: services.log, chain, days: config.retentionDays, now, timer, report }))
    // The first search of a snapshot is slow, so it is not that of a buyer.
    const readNameIndex = () => measure('name index', subject)
    running.retrieval = await startDataset(options, catalog, readNameIndex)
    closers.push(() => running.retrieval?.stop())
    const reconciler = startReconciler({ services, timer, runExclusively: runIfUnlocked(paymentMutex) })
    running.reconciler = reconciler
    await readNameIndex()
    closers.push(() => reconciler.stop())

    const { rateLimitPerMinute, addressBudget, a2aEnabled, retentionDays } = config
    const version = SERVICE_VERSION
    const deployment = { baseUrl, version, terms, rateLimitPerMinute, addressBudget, a2aEnabled, retentionDays }
    if (a2aEnabled) {
      const card = () => agentCard({ ...deployment, exampleCompany: terms.example })
      await keys.publishCard(card, `${baseUrl}${FREE_PATHS.jwks}`)
    }
    const parts = { catalog, journal, shown, signed: keys.documents, executor, clients, now, timer, report }
    server.open(
      createApp({
        ...deployment,
        ...parts,
        registry: await registeredAgent(options, baseUrl),
        sandboxAccount: externals.sandboxAccount,
        operator: config.operator,
        observe: metrics?.observeRequests(),
      }),
    )
    isOpen = true
    // `PORT=0` uses a free port.
    return { baseUrl, port: server.port, adminUrl: admin ? admin.url : undefined, becomeUnready, stop }
  } catch (cause) {
    await stop()
    throw cause
  }
}

async function openStores(options: ServiceOptions, running: Running, closers: Closer[]) {
  const { config, externals, allowed = {}, now, random, report, onDatasetChange } = options
  const { dataDirectory, keysDirectory } = config
  const { payTo, chain, settlementsLeft } = externals
  const catalog = new Catalog(dataDirectory, { report, ...(onDatasetChange && { onChange: onDatasetChange }) })
  closers.push(() => catalog.close())
  const journal = journalWhenRead(dataDirectory, closers)
  const log = await (options.openLog?.(config) ?? openConfiguredLog(config, { now, report }))
  closers.push(() => log.close())
  const stored = { log: async () => log, catalog: () => catalog, journal }
  const subject = { config, payTo, now, random, fetch: limited(fetch), ...stored, chain, settlementsLeft }
  await checkLogOwner({ log, dataDirectory, terms: { ...DEPLOYMENTS[config.mode], payTo }, allowed })
  await checkReceiptKeys(log, keysDirectory, allowed.newKeys === true ? now() : undefined)
  const receiver = payTo.toLowerCase()
  const formerReceivers = ((await ownerOf(log).read())?.value.receivers ?? []).filter((each) => each !== receiver)
  return { catalog, journal, formerReceivers, log, subject: { ...subject, running } }
}

type AdminParts = Pick<Parameters<typeof addStateMetrics>[1], 'catalog' | 'log' | 'sales' | 'budgets' | 'queues'> & {
  metrics: ServiceMetrics
  subject: Subject
}

/** Starts before the dataset is retrieved, so that a probe sees a service that is not ready yet. */
async function startAdmin(
  { config, clock, now, timer, report }: ServiceOptions,
  { metrics, subject, ...parts }: AdminParts,
) {
  if (!config.admin) return undefined
  const checks = new CheckRunner({ open: () => ({ ...subject }), clock, timer })
  addStateMetrics(metrics, { ...parts, checks, now, timer })
  const { isDefaultPort, ...address } = config.admin
  const readiness = () => checks.readiness()
  const starting = startAdminServer({ ...address, registry: metrics.registry, readiness, report })
  return starting.catch((cause: unknown) => {
    // The default port is probably in use by another service on this machine. Run without the address.
    if (isDefaultPort) return report('admin_port_unusable', cause)
    // The message of the system does not say which of the two addresses of the service it means.
    const isTaken = (cause as NodeJS.ErrnoException).code === 'EADDRINUSE'
    const found = isTaken ? `: another program uses ${address.port}` : ''
    throw new ConfigError(`ADMIN_PORT must be a free port, and ADMIN_HOST an address of this machine${found}`, {
      cause,
    })
  })
}

/** Their calls are measured later. */
function openSettlementServices(
  { externals, clock: monotonic, now, timer, report }: ServiceOptions,
  { log, signReceipt }: Pick<SettlementServices, 'log' | 'signReceipt'>,
): SettlementServices {
  const { facilitator, chain } = externals
  const recentAttempts = new RecentAttempts({ log, monotonic, timer })
  const doubts = new FacilitatorDoubts({ log, monotonic })
  return {
    log,
    ownership: new LogOwnership(),
    facilitator,
    chain,
    recentAttempts,
    doubts,
    signReceipt,
    now,
    monotonic,
    timer,
    report,
  }
}

/** Retrieves the dataset now and daily. The service starts without one if a remote source cannot be reached. */
function startDataset(options: ServiceOptions, catalog: Catalog, onRetrieved: () => Promise<unknown>) {
  const { config, runImport, now, random, timer, report } = options
  const { dataDirectory, dataset: path } = config
  const request = { dataDirectory, path, catalog, runImport, now }
  return startDailyRetrieval({ ...request, random, timer, report, onRetrieved })
}

/** Opens the journal when it is read for the first time, because the first import creates it. */
function journalWhenRead(dataDirectory: string, closers: Closer[]): () => Journal {
  let journal: Journal | undefined
  closers.push(async () => journal?.close())
  return () => (journal ??= new Journal(dataDirectory))
}

/** Skips a payment whose mutex a request holds, because that request reconciles the record itself. */
function runIfUnlocked(mutex: KeyedMutex) {
  return async (key: string, work: () => Promise<void>): Promise<void> => {
    if (mutex.isHeld(key)) return
    using turn = await mutex.enter(key)
    if (turn) await work()
  }
}

/** The ERC-8004 agent of the service. Mainnet has none. */
async function registeredAgent({ config, externals, clock }: ServiceOptions, baseUrl: string) {
  if (config.mode !== 'testnet') return undefined
  const { chain, registerAgent } = externals
  const agentId = config.agentId ?? (await registerAgent?.(`${baseUrl}${TESTNET_PATHS.registrationFile}`))
  return agentId === undefined ? undefined : { agentId, chain, clock }
}
