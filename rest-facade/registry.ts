/** The three testnet-only routes about the agent in the ERC-8004 registries (contract 4.4.6 to 4.4.8). */
import { Router, type RequestHandler } from 'express'
import type { Clients } from '../agent/http/clients.ts'
import { methodNotAllowed, refuse } from '../agent/http/response.ts'
import { WEIGHTS } from '../agent/limits/address-budget.ts'
import type { Client } from '../agent/limits/address-budget.ts'
import { refused, type Refused } from '../agent/operation/outcome.ts'
import { TESTNET_PATHS } from '../agent/operation/paths.ts'
import type { Refusal } from '../agent/operation/refusal.ts'
import { PAGE_CACHE_SECONDS } from '../agent/registry/feedback-cache.ts'
import { toChecksumAddress, type FeedbackQuery } from '../agent/registry/reader.ts'
import type { Registry } from '../agent/registry/registry.ts'
import {
  buildIdentityBody,
  buildRegistrationFile,
  buildReputationBody,
  findAgent,
  type CheckedIdentity,
  type PublishedAgent,
} from './documents/registry-bodies.ts'
import { ADDRESS_PATTERN, FEEDBACK_ENTRIES_MAX } from './documents/registry-schemas.ts'
import { invalidQuery, parseQueryString, rawQuery } from './query.ts'

/** With a larger `start`, the last index of a page would not be a safe integer. */
const START_MAX = Number.MAX_SAFE_INTEGER - FEEDBACK_ENTRIES_MAX

/** The specification of the service names five seconds for these routes. */
const RATE_LIMITED: Refusal = { code: 'rate_limited', retryAfterSeconds: 5 }
const UNCHECKED: Refusal = { code: 'registry_unchecked' }

interface RegistryRouteOptions extends Omit<PublishedAgent, 'agentId'> {
  registry: Registry
  clients: Clients
}

type QueryParameters = ReadonlyMap<string, string>

interface RegistryEndpoint<Query> {
  parse: (parameters: QueryParameters) => { kind: 'query'; query: Query } | Refused
  respond: (identity: CheckedIdentity, query: Query, client: Client) => RegistryReply | Promise<RegistryReply>
}

type RegistryReply = { kind: 'body'; body: object } | Refused

export function registryRoutes({ registry, clients, ...options }: RegistryRouteOptions): Router {
  const router = Router({ caseSensitive: true })
  const agent: PublishedAgent = { ...options, agentId: registry.agentId }
  const serve = <Query>(path: string, endpoint: RegistryEndpoint<Query>) =>
    router.all(path, registryHandler(registry, clients, endpoint))
  serve(TESTNET_PATHS.registrationFile, {
    parse: parseEmptyQuery,
    respond: (identity) => ({ kind: 'body', body: buildRegistrationFile(agent, identity) }),
  })
  serve(TESTNET_PATHS.registryIdentity, {
    parse: parseEmptyQuery,
    respond: (identity) => ({ kind: 'body', body: buildIdentityBody(agent, identity) }),
  })
  serve(TESTNET_PATHS.reputation, {
    parse: parseFeedbackQuery,
    respond: (identity, query, client) => readReputation({ registry, agent, identity, client }, query),
  })
  return router
}

function registryHandler<Query>(
  registry: Registry,
  clients: Clients,
  { parse, respond }: RegistryEndpoint<Query>,
): RequestHandler {
  return async (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refuse(response, methodNotAllowed('GET, HEAD'))
    const parameters = parseQueryString(rawQuery(request.originalUrl))
    const parsed = parameters.kind === 'refused' ? parameters : parse(parameters.fields)
    if (parsed.kind === 'refused') return refuse(response, parsed.refusal)
    const client = clients.of(request)
    if (client.budget.raiseTo(WEIGHTS.request)) return refuse(response, RATE_LIMITED)
    const identity = registry.identity()
    if (identity.status === 'unchecked') return refuse(response, UNCHECKED)
    const reply = await respond(identity, parsed.query, client)
    if (reply.kind === 'refused') return refuse(response, reply.refusal)
    response.set('Cache-Control', `public, max-age=${PAGE_CACHE_SECONDS}`).type('json').send(JSON.stringify(reply.body))
  }
}

function parseEmptyQuery(parameters: QueryParameters): { kind: 'query'; query: undefined } | Refused {
  return parameters.size > 0 ? invalidQuery('it must be empty') : { kind: 'query', query: undefined }
}

function parseFeedbackQuery(parameters: QueryParameters): { kind: 'query'; query: FeedbackQuery } | Refused {
  const hasUnknown = [...parameters.keys()].some((name) => !['client', 'start', 'limit'].includes(name))
  if (hasUnknown) return invalidQuery('unknown parameters are not accepted')
  const client = parameters.get('client') ?? ''
  if (!ADDRESS_PATTERN.test(client)) return invalidQuery('client must be 0x and 40 hexadecimal digits')
  const start = parsePositiveInteger(parameters.get('start') ?? '1', START_MAX)
  if (start === undefined) return invalidQuery(`start must be a whole number from 1 to ${START_MAX}`)
  const limit = parsePositiveInteger(parameters.get('limit') ?? String(FEEDBACK_ENTRIES_MAX), FEEDBACK_ENTRIES_MAX)
  if (limit === undefined) return invalidQuery(`limit must be a whole number from 1 to ${FEEDBACK_ENTRIES_MAX}`)
  return { kind: 'query', query: { client: toChecksumAddress(client), start, limit } }
}

/** Decimal digits, no sign, no leading zero. */
function parsePositiveInteger(text: string, max: number): number | undefined {
  return /^[1-9][0-9]{0,15}$/.test(text) && Number(text) <= max ? Number(text) : undefined
}

interface ReputationRequest {
  registry: Registry
  agent: PublishedAgent
  identity: CheckedIdentity
  client: Client
}

/** Also answers with the feedback of an agent that another account owns, under the status `owner_mismatch`. */
async function readReputation(
  { registry, agent, identity, client }: ReputationRequest,
  query: FeedbackQuery,
): Promise<RegistryReply> {
  if (!findAgent(identity)) return { kind: 'body', body: buildReputationBody(agent, identity, query, undefined) }
  const outcome = await registry.page(query, client)
  switch (outcome.kind) {
    case 'busy':
      return refused(RATE_LIMITED)
    case 'unread':
      return refused(UNCHECKED)
    case 'page':
      return { kind: 'body', body: buildReputationBody(agent, identity, query, outcome.page) }
  }
}
