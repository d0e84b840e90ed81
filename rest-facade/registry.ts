/** The three testnet-only routes about the agent in the ERC-8004 registries (contract 4.4.6 to 4.4.8). */
import { Router } from 'express'
import { getAddress } from 'viem'
import type { Clients } from '../agent/transport/http/connections.ts'
import { refuse } from '../agent/transport/http/response.ts'
import { WEIGHTS, type Client } from '../agent/sale/limits/address-budget.ts'
import type { Refused } from '../agent/operation/outcome.ts'
import { TESTNET_PATHS } from '../agent/operation/endpoints.ts'
import type { Refusal } from '../agent/operation/refusal.ts'
import type { FeedbackQuery } from './registry/reader.ts'
import { REGISTRY_CACHE_SECONDS, type ReadOutcome, type Registry, type RegistryIdentity } from './registry/registry.ts'
import {
  buildIdentityBody,
  buildRegistrationFile,
  buildReputationBody,
  type PublishedAgent,
} from './documents/registry-bodies.ts'
import { ADDRESS_PATTERN } from '../agent/payment/accounts.ts'
import { FEEDBACK_ENTRIES_MAX } from './documents/registry-schemas.ts'
import { requireRead, sendCurrent } from './document.ts'
import { invalidQuery, parseQueryString, rawQuery } from './query.ts'

/** With a larger `start`, the last index of a page would not be a safe integer. */
const START_MAX = Number.MAX_SAFE_INTEGER - FEEDBACK_ENTRIES_MAX

const REFUSALS: Record<'busy' | 'unread', Refusal> = {
  /** The specification of the service names five seconds for these routes. */
  busy: { code: 'rate_limited', retryAfterSeconds: 5 },
  unread: { code: 'registry_unchecked' },
}

interface RegistryRouteOptions extends Omit<PublishedAgent, 'agentId'> {
  registry: Registry
  clients: Clients
}

type Parsed<Query> = { kind: 'query'; query: Query } | Refused

export function registryRoutes({ registry, clients, ...options }: RegistryRouteOptions): Router {
  const router = Router({ caseSensitive: true })
  const agent: PublishedAgent = { ...options, agentId: registry.agentId }

  function serve<Query>(
    path: string,
    parse: (parameters: ReadonlyMap<string, string>) => Parsed<Query>,
    respond: (identity: RegistryIdentity, query: Query, client: Client) => Promise<ReadOutcome<object>>,
  ): void {
    router.all(path, requireRead, async (request, response) => {
      const parameters = parseQueryString(rawQuery(request.originalUrl))
      const parsed = parameters.kind === 'refused' ? parameters : parse(parameters.fields)
      if (parsed.kind === 'refused') return refuse(response, parsed.refusal)
      const client = clients.of(request)
      if (client.budget.raiseTo(WEIGHTS.request)) return refuse(response, REFUSALS.busy)
      const identity = await registry.identity(client)
      const body = identity.kind === 'read' ? await respond(identity.result, parsed.query, client) : identity
      if (body.kind !== 'read') return refuse(response, REFUSALS[body.kind])
      sendCurrent(response, body.result, REGISTRY_CACHE_SECONDS)
    })
  }

  serve(TESTNET_PATHS.registrationFile, parseEmptyQuery, async (identity) => {
    return { kind: 'read', result: buildRegistrationFile(agent, identity) }
  })
  serve(TESTNET_PATHS.registryIdentity, parseEmptyQuery, async (identity) => {
    return { kind: 'read', result: buildIdentityBody(agent, identity) }
  })
  serve(TESTNET_PATHS.reputation, parseFeedbackQuery, async (identity, query, client) => {
    const page = identity.status === 'registered' ? await registry.page(query, client) : undefined
    if (page && page.kind !== 'read') return page
    return { kind: 'read', result: buildReputationBody(agent, identity, query, page?.result) }
  })
  return router
}

function parseEmptyQuery(parameters: ReadonlyMap<string, string>): Parsed<undefined> {
  return parameters.size > 0 ? invalidQuery('it must be empty') : { kind: 'query', query: undefined }
}

function parseFeedbackQuery(parameters: ReadonlyMap<string, string>): Parsed<FeedbackQuery> {
  const hasUnknown = [...parameters.keys()].some((name) => !['client', 'start', 'limit'].includes(name))
  if (hasUnknown) return invalidQuery('unknown parameters are not accepted')
  const client = parameters.get('client') ?? ''
  if (!ADDRESS_PATTERN.test(client)) return invalidQuery('client must be 0x and 40 hexadecimal digits')
  const start = parsePositiveInteger(parameters.get('start') ?? '1', START_MAX)
  if (start === undefined) return invalidQuery(`start must be a whole number from 1 to ${START_MAX}`)
  const limit = parsePositiveInteger(parameters.get('limit') ?? String(FEEDBACK_ENTRIES_MAX), FEEDBACK_ENTRIES_MAX)
  if (limit === undefined) return invalidQuery(`limit must be a whole number from 1 to ${FEEDBACK_ENTRIES_MAX}`)
  // An address in any letter case is accepted.
  return { kind: 'query', query: { client: getAddress(client.toLowerCase()), start, limit } }
}

/** Decimal digits, no sign, no leading zero. */
function parsePositiveInteger(text: string, max: number): number | undefined {
  return /^[1-9][0-9]{0,15}$/.test(text) && Number(text) <= max ? Number(text) : undefined
}
