/**
 * The three testnet-only routes about the agent in the ERC-8004 registries (contract 4.4.6 to 4.4.8). Results are kept
 * for some seconds, and concurrent requests share one read. The budget of the client pays for a read, and few reads run
 * at once.
 */
import { Router } from 'express'
import { LRUCache } from 'lru-cache'
import { getAddress } from 'viem'
import * as z from 'zod'
import type { Report, Timer } from '../store/base/runtime.ts'
import type { Clients } from '../agent/transport/http/connections.ts'
import { refuse } from '../agent/transport/http/response.ts'
import { ALWAYS_OPEN, WEIGHTS, type Client } from '../agent/sale/limits/address-budget.ts'
import { WorkQueue } from '../agent/sale/limits/work-queue.ts'
import { withDeadline } from '../agent/settlement/rpc/deadline.ts'
import { inputRefusal, parseInput } from '../agent/operation/operation.ts'
import { textInput } from '../agent/operation/resource.ts'
import { TESTNET_PATHS } from '../agent/operation/endpoints.ts'
import { refused, type Computed } from '../agent/operation/outcome.ts'
import { NOT_REGISTERED, readIdentity, readPage, type RegistryIdentity } from './registry/reader.ts'
import {
  buildIdentityBody,
  buildRegistrationFile,
  buildReputationBody,
  reputationQuerySchema,
  type PublishedAgent,
} from './registry/bodies.ts'
import { requireRead, sendCurrent } from './document.ts'
import { parseQueryString, rawQuery } from './query.ts'

const NO_QUERY = z.strictObject({})

const CACHE_SECONDS = 15
const CACHED_RESULTS_MAX = 512
/** For all calls of one read. */
const READ_MS_MAX = 3_000
const CONCURRENT_READS_MAX = 16

/** The refusal if the budget of the client is spent or the queue is full. The specification names five seconds. */
const BUSY = refused({ code: 'rate_limited', retryAfterSeconds: 5 })

interface Registry {
  agentId: bigint
  /** The node that reads the entries of the agent. */
  url: string
  /** Milliseconds of a clock that never goes back. */
  clock: () => number
}

interface RegistryRouteOptions extends Omit<PublishedAgent, 'agentId'> {
  /** Absent if no agent is configured. */
  registry?: Registry | undefined
  clients: Clients
  now: () => Date
  timer: Timer
  report: Report
}

export function registryRoutes({ registry, clients, ...options }: RegistryRouteOptions): Router {
  const router = Router({ caseSensitive: true })
  const agent = { ...options, agentId: registry?.agentId }
  const reads = registry && openReads({ ...options, ...registry })

  function serve<Query extends z.ZodObject>(
    path: string,
    querySchema: Query,
    respond: (identity: RegistryIdentity, query: z.output<Query>, client: Client) => Promise<Computed<object>>,
  ): void {
    router.all(path, requireRead, async (request, response) => {
      const parameters = parseQueryString(rawQuery(request.originalUrl))
      if (parameters.kind === 'refused') return refuse(response, parameters.refusal)
      const parsed = parseInput(querySchema, textInput(parameters.fields))
      if (parsed.kind === 'invalid')
        return refuse(response, inputRefusal({ inputFault: 'invalid_query' }, parsed.fault))
      const client = clients.of(request)
      if (client.budget.raiseTo(WEIGHTS.request)) return refuse(response, BUSY.refusal)
      const identity = (await reads?.identity(client)) ?? { kind: 'computed', answer: NOT_REGISTERED }
      const body = identity.kind === 'computed' ? await respond(identity.answer, parsed.input, client) : identity
      if (body.kind === 'refused') return refuse(response, body.refusal)
      sendCurrent(response, body.answer, CACHE_SECONDS)
    })
  }

  serve(TESTNET_PATHS.registrationFile, NO_QUERY, async (identity) => {
    return { kind: 'computed', answer: buildRegistrationFile(agent, identity) }
  })
  serve(TESTNET_PATHS.registryIdentity, NO_QUERY, async (identity) => {
    return { kind: 'computed', answer: buildIdentityBody(agent, identity) }
  })
  serve(TESTNET_PATHS.reputation, reputationQuerySchema, async (identity, asked, client) => {
    const query = { ...asked, client: getAddress(asked.client.toLowerCase()) }
    const page = identity.status === 'registered' ? await reads?.page(query, client) : undefined
    if (page?.kind === 'refused') return page
    return { kind: 'computed', answer: buildReputationBody(agent, identity, query, page?.answer) }
  })
  return router
}

function openReads({ clock, timer, report, ...node }: Registry & Omit<RegistryRouteOptions, 'clients'>) {
  const queue = new WorkQueue(CONCURRENT_READS_MAX)
  const lifetime = { ttl: CACHE_SECONDS * 1000, ttlResolution: 0, perf: { now: clock } }
  const outcomes = new LRUCache<string, Promise<Computed<unknown>>>({ max: CACHED_RESULTS_MAX, ...lifetime })

  function readCached<Result>(
    { key, event, client }: { key: string; event: string; client: Client },
    read: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Computed<Result>> {
    const known = outcomes.get(key)
    // All results with the same key have the same type.
    if (known) return known as Promise<Computed<Result>>
    if (client.budget.spend(WEIGHTS.remoteCall)) return Promise.resolve(BUSY)
    const readInTurn = async (): Promise<Computed<Result>> => {
      // Goes on without the client, because others share the read.
      using place = await queue.enter({ ...client, ...ALWAYS_OPEN })
      if (!place) return BUSY
      return { kind: 'computed', answer: await withDeadline({ timer, milliseconds: READ_MS_MAX }, read) }
    }
    const outcome = readInTurn().catch((cause: unknown) => {
      report(event, cause)
      return refused({ code: 'registry_unchecked' })
    })
    outcomes.set(key, outcome)
    void outcome.then(({ kind }) => kind === 'refused' && outcomes.delete(key))
    return outcome
  }

  return {
    identity: (client: Client) =>
      readCached({ key: 'identity', event: 'registry_unread', client }, (signal) => readIdentity(node, signal)),
    page(query: Parameters<typeof readPage>[1], client: Client) {
      const key = `${query.client}:${query.start}:${query.limit}`
      return readCached({ key, event: 'reputation_unread', client }, (signal) => readPage(node, query, signal))
    },
  }
}
