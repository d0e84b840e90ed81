/** Puts the parts together, starts them in order and stops them in the other. */
import type { FacilitatorClient } from '@x402/core/server'
import { jwksBody } from '../keys/jwks.ts'
import { openKeyring } from '../keys/keyring.ts'
import { signCard } from '../keys/card-signature.ts'
import { createApp } from '../rest-facade/app.ts'
import { pagesOf } from '../rest-facade/documents/pages.ts'
import { testnetClient } from '../rest-facade/testnet-client.ts'
import { REGISTRATION_PATH } from '../rest-facade/registration.ts'
import { openCatalog, type Catalog } from '../store/catalog.ts'
import type { Processes } from '../store/import/build.ts'
import type { Timer } from '../store/import/schedule.ts'
import { openBuildThreads } from '../store/import/thread.ts'
import { openResponseLog, type ResponseLog } from '../store/responses.ts'
import { openWindow, type Window } from '../store/window.ts'
import { agentCard, paymentExtensionUri } from './a2a/card.ts'
import { helpText } from './a2a/help.ts'
import { a2aRoute } from './a2a/route.ts'
import type { Config } from './config.ts'
import { keepDataset } from './dataset.ts'
import { openEntrance, type ServerLimits } from './entrance.ts'
import { CompanyAgentExecutor } from './executor/agent-executor.ts'
import { Offers } from './executor/offers.ts'
import { RateLimit } from './executor/rate-limit.ts'
import type { Seller } from './executor/seller.ts'
import { Turns } from './executor/turns.ts'
import type { Chain } from './payments/chain.ts'
import { openReconciler } from './payments/reconciler.ts'
import { openRetention } from './payments/retention.ts'
import { termsOf } from './payments/terms.ts'
import { openRegistry, UNREGISTERED, type OwnIdentity, type Registry } from './registry/registry.ts'
import { namesOf } from './skills/names.ts'
import { OPERATIONS_ON_SALE } from './skills/skills.ts'

/** Everything the service meets outside, so that a test can put another in its place. */
export interface Doors {
  facilitator: FacilitatorClient
  chain: Chain
  payTo: string
  registry?: RegistryDoor
}

/** The chain that ERC-8004's registries are read from. */
interface RegistryDoor {
  rpcUrl: string
  /** Registers the agent where no identity is configured: the sandbox does, which can. */
  register?: (agentUri: string) => Promise<OwnIdentity>
}

export interface Surroundings {
  config: Config
  version: string
  doors: Doors
  /** Another response log than LMDB's. */
  openLog?: (dataDirectory: string) => ResponseLog
  /** Others than the server's own. */
  limits?: Partial<ServerLimits>
  processes: Processes
  now: () => Date
  /** From 0 to below 1; nothing secret comes of it. */
  random: () => number
  timer: Timer
  report: (event: string, cause: unknown) => void
}

export interface Service {
  baseUrl: string
  /** Stops accepting, finishes what is in flight, and closes the store. */
  stop(): Promise<void>
}

export async function startService(surroundings: Surroundings): Promise<Service> {
  const { config } = surroundings
  // The port first: it is the likeliest thing to be taken, and the base URL may depend on it.
  const entrance = await openEntrance(config, surroundings.limits)
  const { baseUrl } = entrance
  const opened: (() => Promise<void> | void)[] = []
  async function stop(): Promise<void> {
    await entrance.close()
    for (const closeOne of opened.splice(0).toReversed()) await closeOne()
  }
  try {
    const catalog = openCatalog(config.dataDirectory)
    opened.push(() => catalog.close())
    const log = (surroundings.openLog ?? openResponseLog)(config.dataDirectory)
    opened.push(() => log.close())
    const window = openWindow(config.dataDirectory)
    opened.push(() => window.close())
    const seller = openSeller(surroundings, { catalog, log, window })
    const executor = openAgent(seller, baseUrl)
    opened.push(() => executor.drain())
    const { dataDirectory, dataset: path } = config
    const { processes, now, random, timer, report } = surroundings
    opened.push(openRetention({ log, days: config.retentionDays, now, timer, report }))
    const threads = openBuildThreads()
    opened.push(() => threads.stop())
    const { build } = threads
    const onRetrieved = () => warm(catalog, report)
    const keeping = { dataDirectory, path, catalog, build, processes, now, random, timer, report, onRetrieved }
    const schedule = await keepDataset(keeping)
    opened.push(() => schedule.stop())
    onRetrieved()
    const reconciler = openReconciler({ desk: seller.desk, timer, random, alone: aloneIn(seller.turns) })
    opened.push(() => reconciler.stop())
    const registry = await openIdentity(surroundings, baseUrl)
    opened.push(() => registry.stop())
    entrance.open(await buildApp(surroundings, { baseUrl, catalog, executor, registry }))
    return { baseUrl, stop }
  } catch (cause) {
    await stop()
    throw cause
  }
}

/** Reads the name index before the first search needs it. What is damaged is built again by the next retrieval. */
function warm(catalog: Catalog, report: Surroundings['report']): void {
  try {
    const dataset = catalog.current()
    if (dataset) namesOf(dataset.snapshot)
  } catch (cause) {
    report('name_index_unreadable', cause)
  }
}

/** Which agent we are on the chain, and what it says of us. */
async function openIdentity(
  { config, doors, now, random, timer, report }: Surroundings,
  baseUrl: string,
): Promise<Registry> {
  const { registry: door } = doors
  const agentUri = `${baseUrl}${REGISTRATION_PATH}`
  if (!door || config.mode !== 'testnet') return UNREGISTERED
  const identity = config.erc8004 ?? (await door.register?.(agentUri))
  if (!identity) return UNREGISTERED
  const { chainId } = termsOf(config.mode, doors.payTo)
  return openRegistry({ ...identity, url: door.rpcUrl, chainId, agentUri, fetch, now, random, timer, report })
}

function openSeller(
  { config, doors, now, timer, report }: Surroundings,
  { catalog, log, window }: { catalog: Catalog; log: ResponseLog; window: Window },
): Seller {
  const { facilitator, chain, payTo } = doors
  return {
    terms: termsOf(config.mode, payTo),
    catalog,
    desk: { log, facilitator, chain, now, timer, report },
    rateLimit: new RateLimit({ perMinute: config.rateLimitPerMinute, now, window, report }),
    turns: new Turns(),
    offers: new Offers(),
  }
}

/** The reconciler takes its turn like a request, but does not stand in line: a request does the same work itself. */
function aloneIn(turns: Turns) {
  return async (identity: string, work: () => Promise<void>): Promise<void> => {
    if (!turns.isTaken(identity)) await turns.run(identity, work, () => undefined)
  }
}

function openAgent(seller: Seller, baseUrl: string): CompanyAgentExecutor {
  const extensionUri = paymentExtensionUri(baseUrl)
  return new CompanyAgentExecutor({
    seller,
    baseUrl,
    help: helpText({ baseUrl, extensionUri, onSale: OPERATIONS_ON_SALE }),
  })
}

interface Inside {
  baseUrl: string
  catalog: Catalog
  executor: CompanyAgentExecutor
  registry: Registry
}

async function buildApp(
  { config, version, doors, now, timer, report }: Surroundings,
  { baseUrl, catalog, executor, registry }: Inside,
): Promise<ReturnType<typeof createApp>> {
  const terms = termsOf(config.mode, doors.payTo)
  const { onSale } = executor
  const keyring = await openKeyring({
    directory: config.keysDirectory,
    now: () => now().getTime(),
    generateIfEmpty: true,
  })
  const card = (extensionRequired: boolean) => agentCard({ baseUrl, version, terms, onSale, extensionRequired })
  const signed = await signCard({ card: card(true), keyring, jwksUrl: `${baseUrl}/.well-known/jwks.json` })
  const extensionUri = paymentExtensionUri(baseUrl)
  const route = a2aRoute({ executor, card: card(false), extensionUri, timer, report })
  const facts = { version, terms, onSale, rateLimitPerMinute: config.rateLimitPerMinute, catalog, now }
  const a2a = config.a2aEnabled ? { a2a: { route, card: signed } } : {}
  const { rateLimitPerMinute, a2aEnabled, retentionDays, contactEmail } = config
  const limits = { rateLimitPerMinute, a2aEnabled, retentionDays, contactEmail }
  const pages = await pagesOf({ baseUrl, version, terms, onSale, ...limits, extensionUri })
  const python = await testnetClient(config.mode, baseUrl)
  const documents = { jwks: jwksBody(keyring), pages, testnetClient: python }
  return createApp({ executor, baseUrl, facts, ...documents, ...a2a, registry, report })
}
