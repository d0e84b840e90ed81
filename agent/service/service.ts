/** Creates the parts of the service, starts them in order, and stops them in reverse order. */
import { setMaxListeners } from 'node:events'
import { LRUCache } from 'lru-cache'
import { createApp } from '../../rest-facade/app.ts'
import { Catalog, datasetStatus, type Dataset } from '../../store/dataset/catalog.ts'
import { Journal } from '../../store/history/journal.ts'
import { createReserveCheck, FREE_BYTES_MIN } from '../../store/files/disk-space.ts'
import { ImportError } from '../../store/import/errors.ts'
import type { ImportResult, ImportSteps } from '../../store/import/run.ts'
import type { Report, Timer } from '../../store/base/runtime.ts'
import { openBuildProcesses } from '../../store/import/build-process.ts'
import type { ResponseLog } from '../../store/log/responses.ts'
import { responsesFolder } from '../../store/files/layout.ts'
import { openServiceKeys, checkReceiptKeys } from './card-keys.ts'
import { agentCard, helpText } from '../transport/a2a/card.ts'
import { ServiceMetrics } from './admin/metrics.ts'
import { observe } from './admin/observed-services.ts'
import { checkParts, startAdminServer } from './admin/server.ts'
import { traceSale, type SaleLine } from './admin/sale-trace.ts'
import { addStateMetrics } from './admin/state-metrics.ts'
import { ConfigError, type Config } from './config.ts'
import { startDailyRetrieval } from './dataset.ts'
import { checkLogOwner, type AllowedChanges } from './check-log-owner.ts'
import { openConfiguredLog } from './response-log.ts'
import { startHttpServer, type HttpServerLimits } from './http-server.ts'
import { CompanyAgentExecutor } from '../sale/agent-executor.ts'
import type { SaleContext } from '../sale/sale-context.ts'
import { AddressBudgets } from '../sale/limits/address-budget.ts'
import { KeyedMutex } from '../sale/limits/keyed-mutex.ts'
import { PayerReservations } from '../sale/limits/payer-reservations.ts'
import { WorkQueue } from '../sale/limits/work-queue.ts'
import { OPERATIONS } from '../operation/operations.ts'
import { FREE_PATHS, TESTNET_PATHS } from '../operation/endpoints.ts'
import type { Chain } from '../settlement/chain/chain.ts'
import { RecentAttempts } from '../settlement/recent-attempts.ts'
import type { PaymentServices } from '../settlement/services.ts'
import type { Facilitator } from '../settlement/facilitator/facilitator.ts'
import type { RelayerFunds } from '../settlement/facilitator/in-process-facilitator.ts'
import { readLastBackup } from '../../store/backup/write.ts'
import { startReconciler } from '../settlement/reconciler.ts'
import { startRetention } from '../settlement/retention.ts'
import { buildTerms, DEPLOYMENTS } from '../payment/terms.ts'
import { signReceipt as signReceiptWith } from '../payment/receipt/sign.ts'
import { openShownDataset } from '../answer/shown-dataset.ts'
import { cachedNameIndex } from '../answer/registers.ts'

/** The remote services. Tests pass their own. */
export interface Externals {
  facilitator: Facilitator
  chain: Chain
  payTo: string
  /** Only an in-process facilitator has a relayer. */
  relayerFunds?: () => Promise<RelayerFunds>
  /** The ERC-8004 registries. Only the sandbox can register the agent when no identity is configured. */
  registry?: { rpcUrl: string; register?: (agentUri: string) => Promise<bigint> }
  /** Only in a sandbox: the account that its page pays with. */
  sandboxAccount?: NonNullable<Parameters<typeof createApp>[0]['sandboxAccount']>
}

/**
 * Payments that are verified at once. More than the sales a second of one process, times the seconds of a verification.
 */
const VERIFICATIONS_MAX = 64
/** The version that metadata, OpenAPI description and agent card state. The specification fixes it. */
const SERVICE_VERSION = '0.1.0'
/** Several monitors can scrape every second, so a scrape shows checks that are at most this old. */
const CHECKS_MS_MAX = 10_000

interface ServiceOptions {
  config: Config
  externals: Externals
  /** Changes of the response log or of its receiver that the operator has announced. */
  allowed?: AllowedChanges
  /** Opens the response log; the configured one by default. */
  openLog?: (config: Config) => Promise<ResponseLog>
  /** How a dataset is imported; in child processes by default. */
  importSteps?: ImportSteps
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
  /** The log lines that were not written, for the metrics. */
  lostLogLines?: () => number
}

type Closer = () => Promise<void> | void

export async function startService(given: ServiceOptions) {
  const metrics = given.config.admin && new ServiceMetrics()
  const options = metrics ? observeExternals(given, metrics) : given
  const { config, clock, now, timer, report } = options
  const budgets = new AddressBudgets({ perMinute: config.addressBudget, clock })
  const queues = { verifications: new WorkQueue(VERIFICATIONS_MAX), computations: new WorkQueue(1) }
  // The server starts first: the port is the most likely failure, and the base URL may contain it.
  const server = await startHttpServer({ config, limits: options.limits, budgets, clock, report })
  const { baseUrl, clients } = server
  const closers: Closer[] = []
  const stopping = new AbortController()
  // Each request that waits for the chain listens. Above ten, Node.js would print a warning.
  setMaxListeners(0, stopping.signal)
  /** Stops accepting requests, finishes those in progress, and closes the stores. */
  const stop = async (): Promise<void> => {
    stopping.abort()
    await server.close()
    for (const close of closers.splice(0).toReversed()) await close()
  }
  try {
    const stores = await openStores(options, metrics, closers)
    const { catalog, journal, log } = stores
    const isStopping = () => stopping.signal.aborted
    // Probes of the operator do not count in the metrics.
    const unobserved = { ...options, externals: given.externals }
    const state = { catalog, log, budgets, queues, isStopping }
    const admin = metrics && (await startAdmin(unobserved, { ...state, metrics }))
    if (admin) closers.push(() => admin.close())

    const keys = await openServiceKeys({ directory: config.keysDirectory, log, now, timer, report })
    closers.push(() => keys.stop())
    const signReceipt: PaymentServices['signReceipt'] = async (claims) =>
      signReceiptWith({ iss: baseUrl, ...claims }, keys.keyring())
    const context = createSaleContext(options, { ...stores, ...queues, signReceipt, stopSignal: stopping.signal })
    const { payments, terms } = context
    const shown = openShownDataset(config.mode, () => catalog.current())
    const { onSale = () => undefined } = options
    const executor = new CompanyAgentExecutor({
      context,
      baseUrl,
      help: () => helpText({ baseUrl, terms, exampleCompany: shown().exampleCompany }),
      trace: (sale, sell) => traceSale({ ...sale, onSale }, sell),
      onOutcome: (operation, outcome) => metrics?.countOutcome(operation, outcome),
    })
    closers.push(() => executor.drain())
    closers.push(startRetention({ log, chain: payments.chain, days: config.retentionDays, now, timer, report }))
    await startDataset(options, { catalog, metrics }, closers)
    const reconciler = startReconciler({ payments, timer, runExclusively: runIfUnlocked(context.paymentMutex) })
    closers.push(() => reconciler.stop())
    metrics?.addGauge(
      'company_agent_oldest_open_payment_age_seconds',
      'Age of the oldest payment that has no final outcome after an hour; 0 without one',
      // The clock can have been set back, or be that of another machine.
      () => Math.max(0, (now().getTime() - reconciler.oldestOpen()) / 1000),
    )

    const { rateLimitPerMinute, addressBudget, a2aEnabled, retentionDays } = config
    const version = SERVICE_VERSION
    const deployment = { baseUrl, version, terms, rateLimitPerMinute, addressBudget, a2aEnabled, retentionDays }
    if (a2aEnabled) {
      // The card is built once, so its examples cannot follow the dataset.
      const exampleCompany = config.mode === 'testnet' ? shown().exampleCompany : undefined
      await keys.publishCard(agentCard({ ...deployment, exampleCompany }), `${baseUrl}${FREE_PATHS.jwks}`)
    }
    const parts = { catalog, journal, shown, signed: keys.documents, executor, clients, now, timer, report }
    server.open(
      createApp({
        ...deployment,
        ...parts,
        registry: await registeredAgent(options, baseUrl),
        sandboxAccount: options.externals.sandboxAccount,
        operator: config.operator,
        observe: metrics?.observeRequests(),
      }),
    )
    // `PORT=0` uses a free port.
    return { baseUrl, port: server.port, adminUrl: admin ? admin.url : undefined, stop }
  } catch (cause) {
    await stop()
    throw cause
  }
}

function observeExternals(options: ServiceOptions, metrics: ServiceMetrics): ServiceOptions {
  const { externals, report } = options
  const facilitator = observe(externals.facilitator, metrics)
  const chain = observe(externals.chain, metrics)
  const onSale = (line: SaleLine) => {
    metrics.countPaidRequest(line)
    options.onSale?.(line)
  }
  return { ...options, report: metrics.observeReport(report), onSale, externals: { ...externals, facilitator, chain } }
}

async function openStores(options: ServiceOptions, metrics: ServiceMetrics | undefined, closers: Closer[]) {
  const { config, allowed = {}, now, report, onDatasetChange } = options
  const { dataDirectory, rateLimitPerMinute: salesPerMinute } = config
  const catalog = new Catalog(dataDirectory, { report, ...(onDatasetChange && { onChange: onDatasetChange }) })
  closers.push(() => catalog.close())
  const journal = journalWhenRead(dataDirectory, closers)
  const opened = await (options.openLog?.(config) ?? openConfiguredLog(config, { salesPerMinute, now, report }))
  closers.push(() => opened.close())
  const terms = { ...DEPLOYMENTS[config.mode], payTo: options.externals.payTo }
  await checkLogOwner({ log: opened, dataDirectory, terms, allowed })
  await checkReceiptKeys(opened, config.keysDirectory, allowed.newKeys === true ? now() : undefined)
  const receiver = options.externals.payTo.toLowerCase()
  const formerReceivers = ((await opened.owner())?.receivers ?? []).filter((each) => each !== receiver)
  return { catalog, journal, formerReceivers, log: metrics ? observe(opened, metrics) : opened }
}

interface AdminParts extends Omit<Parameters<typeof addStateMetrics>[1], keyof ServiceOptions | 'lastBackup'> {
  metrics: ServiceMetrics
  catalog: Catalog
  isStopping: () => boolean
}

/** Starts before the dataset is retrieved, so that a probe sees a service that is not ready yet. */
async function startAdmin(options: ServiceOptions, shown: AdminParts) {
  const { config, externals, clock, now, timer, report } = options
  if (!config.admin) return undefined
  const { metrics, catalog, log, isStopping } = shown
  const { dataDirectory } = config
  const usesDisk = config.responseLog === undefined
  const checkDisk = usesDisk ? createReserveCheck(responsesFolder(dataDirectory), FREE_BYTES_MIN.sale) : () => undefined
  /** Whether this service can sell. */
  const checks = {
    dataset: async () => {
      const source = catalog.current()?.source
      return source !== undefined && datasetStatus(source, now()) === 'ready'
    },
    response_log: async () => {
      checkDisk()
      await log.checkWritable()
    },
    chain: () => externals.chain.observe([]),
    running: async () => !isStopping(),
  }
  const latest = new LRUCache<'checks', Record<string, boolean>>({
    max: 1,
    ttl: CHECKS_MS_MAX,
    perf: { now: clock },
    fetchMethod: () => checkParts(checks, timer),
  })
  metrics.addGauge(
    'company_agent_ready',
    'Whether each part that a sale needs works, as last measured: 1 or 0',
    async () => Object.entries(await latest.forceFetch('checks')).map(([part, isReady]) => [part, isReady ? 1 : 0]),
    'part',
  )
  const readiness = () => latest.forceFetch('checks', { forceRefresh: true })
  const lastBackup = () => readLastBackup(dataDirectory)
  addStateMetrics(metrics, { ...options, ...shown, lastBackup })
  const { isDefaultPort, ...address } = config.admin
  const starting = startAdminServer({ ...address, registry: metrics.registry, readiness, report })
  return starting.catch((cause: unknown) => {
    // The default port is probably in use by another service on this machine. Run without the address.
    if (isDefaultPort) return report('admin_port_unusable', cause)
    // The message of the system does not say which of the two addresses of the service it means.
    throw new ConfigError('ADMIN_PORT must be a free port, and ADMIN_HOST an address of this machine', { cause })
  })
}

function createSaleContext(
  { config, externals, clock, now, timer, report }: ServiceOptions,
  {
    log,
    signReceipt,
    formerReceivers,
    ...shared
  }: Pick<PaymentServices, 'log' | 'signReceipt'> &
    Omit<SaleContext, 'terms' | 'answers' | 'payments' | 'payers' | 'paymentMutex'> & {
      formerReceivers: readonly string[]
    },
): SaleContext {
  const { facilitator, chain, payTo } = externals
  const recentAttempts = new RecentAttempts(now)
  return {
    ...shared,
    terms: buildTerms(config.mode, payTo, OPERATIONS, formerReceivers),
    payments: { log, facilitator, chain, recentAttempts, signReceipt, now, monotonic: clock, timer, report },
    payers: new PayerReservations(),
    paymentMutex: new KeyedMutex(),
  }
}

/** Retrieves the dataset now and daily. The service starts without one if a remote source cannot be reached. */
async function startDataset(
  options: ServiceOptions,
  { catalog, metrics }: { catalog: Catalog; metrics: ServiceMetrics | undefined },
  closers: Closer[],
): Promise<void> {
  const { config, importSteps = openBuildProcesses(), now, random, timer } = options
  const report: Report = (event, cause) => {
    if (event === 'dataset_retrieval_failed') metrics?.countImport(cause instanceof ImportError ? cause.code : 'other')
    options.report(event, cause)
  }
  const { dataDirectory, archiveDirectory, dataset: path } = config
  const onRetrieved = (result: ImportResult) => {
    metrics?.countImport(result.changed ? 'changed' : 'unchanged')
    loadNameIndex(catalog, options.report)
  }
  const described = { dataDirectory, archiveDirectory, path, catalog, ...importSteps }
  const schedule = await startDailyRetrieval({ ...described, now, random, timer, report, onRetrieved })
  // The retrieval must end before the catalogue is closed.
  closers.push(() => schedule.stop())
  metrics?.addGauge(
    'company_agent_dataset_pending_seconds',
    'Time since the first attempt of a retrieval of the dataset that has not succeeded; 0 otherwise',
    () => {
      const since = schedule.pendingSince()?.getTime()
      // The command `import` can have retrieved it.
      const isRetrieved = since === undefined || Date.parse(catalog.retrieval()?.source.retrieved_at ?? '') > since
      return isRetrieved ? 0 : (now().getTime() - since) / 1000
    },
  )
  loadNameIndex(catalog, options.report)
}

/** Loads the name index before the first search. A damaged index is rebuilt by the next retrieval. */
function loadNameIndex(catalog: Catalog, report: Report): void {
  try {
    const dataset = catalog.current()
    if (dataset) cachedNameIndex(dataset.snapshot)
  } catch (cause) {
    report('name_index_unreadable', cause)
  }
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
    if (!mutex.isHeld(key)) await mutex.run(key, work, () => undefined)
  }
}

/** The ERC-8004 agent of the service. Mainnet has none. */
async function registeredAgent({ config, externals, clock }: ServiceOptions, baseUrl: string) {
  if (!externals.registry || config.mode !== 'testnet') return undefined
  const { rpcUrl: url, register } = externals.registry
  const agentId = config.agentId ?? (await register?.(`${baseUrl}${TESTNET_PATHS.registrationFile}`))
  return agentId === undefined ? undefined : { agentId, url, clock }
}
