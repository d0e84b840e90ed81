/**
 * The three testnet-only routes about the agent in the ERC-8004 registries (contract 4.4.6 to 4.4.8). Results are kept
 * for some seconds, and concurrent requests share one read. An address reads few pages, and few reads run at once.
 */
import type { RequestHandler } from 'express'
import { LRUCache } from 'lru-cache'
import { getAddress } from 'viem'
import * as z from 'zod'
import { withDeadline } from '../base/deadline.ts'
import type { Report, Timer } from '../base/runtime.ts'
import type { Clients } from '../agent/transport/http/connections.ts'
import { refuse } from '../agent/transport/http/response.ts'
import { ALWAYS_OPEN, type Client } from '../agent/sale/limits/address-budget.ts'
import { WorkQueue } from '../agent/sale/limits/work-queue.ts'
import type { Chain } from '../agent/settlement/chain/chain.ts'
import { inputRefusal, parseInput } from '../agent/operation/operation.ts'
import { textInput } from '../agent/operation/resource.ts'
import { refused, type Computed } from '../agent/operation/outcome.ts'
import { NOT_REGISTERED, readIdentity, readPage, type RegistryIdentity } from './registry/reader.ts'
import {
  buildIdentityBody,
  buildRegistrationFile,
  buildReputationBody,
  reputationQuerySchema,
  type PublishedAgent,
} from './registry/bodies.ts'
import { sendCurrent } from './document.ts'
import { parseQueryString, rawQuery } from './query.ts'

const NO_QUERY = z.strictObject({})

const CACHE_SECONDS = 15
/** A failure is kept as long as its `Retry-After` says. */
const FAILED_SECONDS = 5
const CACHED_RESULTS_MAX = 512
/** For all calls of one read. */
const READ_MS_MAX = 3_000
const CONCURRENT_READS_MAX = 16
/** Pages that one address reads in five seconds, which the specification names. Pages that are kept are free. */
const ADDRESS_PAGES_MAX = 5
const PAGES_SECONDS = 5
const ADDRESSES_MAX = 10_000

const BUSY = refused({
  code: 'rate_limited',
  detail: 'this address has read too many pages of feedback in five seconds',
  retryAfterSeconds: PAGES_SECONDS,
})

interface Registry {
  agentId: bigint
  /** Reads the entries of the agent. */
  chain: Pick<Chain, 'read'>
  /** Milliseconds of a clock that never goes back. */
  clock: () => number
}

interface RegistryOptions extends Omit<PublishedAgent, 'agentId'> {
  /** Absent if no agent is configured. */
  registry?: Registry | undefined
  clients: Clients
  now: () => Date
  timer: Timer
  report: Report
}

export type RegistryHandlers = ReturnType<typeof registryHandlers>

export function registryHandlers({ registry, clients, ...options }: RegistryOptions) {
  const agent = { ...options, agentId: registry?.agentId }
  const reads = registry && openReads({ ...options, ...registry })

  function serve<Query extends z.ZodObject>(
    querySchema: Query,
    respond: (identity: RegistryIdentity, query: z.output<Query>, client: Client) => Promise<Computed<object>>,
  ): RequestHandler {
    return async (request, response) => {
      const parameters = parseQueryString(rawQuery(request.originalUrl))
      if (parameters.kind === 'refused') return refuse(response, parameters.refusal)
      const parsed = parseInput(querySchema, textInput(parameters.fields))
      if (parsed.kind === 'invalid')
        return refuse(response, inputRefusal({ inputFault: 'invalid_query' }, parsed.fault))
      const client = clients.of(request)
      const identity = (await reads?.identity()) ?? { kind: 'computed', answer: NOT_REGISTERED }
      const body = identity.kind === 'computed' ? await respond(identity.answer, parsed.input, client) : identity
      if (body.kind === 'refused') return refuse(response, body.refusal)
      sendCurrent(response, body.answer, CACHE_SECONDS)
    }
  }

  return {
    registrationFile: serve(NO_QUERY, async (identity) => {
      return { kind: 'computed', answer: buildRegistrationFile(agent, identity) }
    }),
    registryIdentity: serve(NO_QUERY, async (identity) => {
      return { kind: 'computed', answer: buildIdentityBody(agent, identity) }
    }),
    reputation: serve(reputationQuerySchema, async (identity, asked, client) => {
      const query = { ...asked, client: getAddress(asked.client.toLowerCase()) }
      const page = identity.status === 'registered' ? await reads?.page(query, client) : undefined
      if (page?.kind === 'refused') return page
      return { kind: 'computed', answer: buildReputationBody(agent, identity, query, page?.answer) }
    }),
  }
}

function openReads({ clock, timer, report, ...reader }: Registry & Omit<RegistryOptions, 'clients'>) {
  const queue = new WorkQueue(CONCURRENT_READS_MAX)
  const ttl = (seconds: number) => ({ ttl: 1000 * seconds, ttlResolution: 0, perf: { now: clock } })
  const outcomes = new LRUCache<string, Promise<Computed<unknown>>>({ max: CACHED_RESULTS_MAX, ...ttl(CACHE_SECONDS) })
  /** The pages that each address has read in the seconds since the first of them. */
  const pages = new LRUCache<string, number>({ max: ADDRESSES_MAX, noUpdateTTL: true, ...ttl(PAGES_SECONDS) })

  function readCached<Result>(key: string, event: string, read: () => Promise<Result>): Promise<Computed<Result>> {
    const known = outcomes.get(key)
    // All results with the same key have the same type.
    if (known) return known as Promise<Computed<Result>>
    const outcome = read().then(
      (answer): Computed<Result> => ({ kind: 'computed', answer }),
      (cause: unknown) => {
        report(event, cause)
        outcomes.set(key, outcome, { ttl: 1000 * FAILED_SECONDS })
        return refused({ code: 'registry_unchecked' })
      },
    )
    outcomes.set(key, outcome)
    return outcome
  }
  const deadline = { timer, milliseconds: READ_MS_MAX }

  function mayReadPage({ prefixes }: Client): boolean {
    const address = prefixes.at(-1) ?? ''
    const count = (pages.get(address) ?? 0) + 1
    if (count <= ADDRESS_PAGES_MAX) pages.set(address, count)
    return count <= ADDRESS_PAGES_MAX
  }

  return {
    identity: () =>
      readCached('identity', 'registry_unread', () =>
        withDeadline(deadline, (openSignal) => readIdentity(reader, openSignal())),
      ),
    async page(query: Parameters<typeof readPage>[1], client: Client) {
      const key = `${query.client}:${query.start}:${query.limit}`
      if (!outcomes.has(key) && !mayReadPage(client)) return BUSY
      return readCached(key, 'reputation_unread', async () => {
        // Goes on without the client, because others share the read.
        using place = await queue.enter({ ...client, ...ALWAYS_OPEN })
        if (!place) throw new Error('Too many reads wait')
        return withDeadline(deadline, (openSignal) => readPage(reader, query, openSignal()))
      })
    },
  }
}
