/** The three testnet-only routes about the agent in the ERC-8004 registries (contract 4.4.6 to 4.4.8). */
import { Router } from 'express'
import { getAddress } from 'viem'
import * as z from 'zod'
import type { Clients } from '../agent/transport/http/connections.ts'
import { refuse } from '../agent/transport/http/response.ts'
import { WEIGHTS, type Client } from '../agent/sale/limits/address-budget.ts'
import { inputRefusal, parseInput } from '../agent/operation/operation.ts'
import { textInput } from '../agent/operation/resource.ts'
import { TESTNET_PATHS } from '../agent/operation/endpoints.ts'
import type { Computed } from '../agent/operation/outcome.ts'
import {
  BUSY,
  NOT_REGISTERED,
  REGISTRY_CACHE_SECONDS,
  type Registry,
  type RegistryIdentity,
} from './registry/registry.ts'
import {
  buildIdentityBody,
  buildRegistrationFile,
  buildReputationBody,
  reputationQuerySchema,
} from './registry/bodies.ts'
import { requireRead, sendCurrent } from './document.ts'
import { parseQueryString, rawQuery } from './query.ts'

const NO_QUERY = z.strictObject({})

type PublishedAgent = Parameters<typeof buildRegistrationFile>[0]

interface RegistryRouteOptions extends Omit<PublishedAgent, 'agentId'> {
  /** Absent if no agent is configured. */
  registry?: Registry | undefined
  clients: Clients
}

export function registryRoutes({ registry, clients, ...options }: RegistryRouteOptions): Router {
  const router = Router({ caseSensitive: true })
  const agent: PublishedAgent = { ...options, agentId: registry?.agentId }

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
      const identity = (await registry?.identity(client)) ?? { kind: 'computed', answer: NOT_REGISTERED }
      const body = identity.kind === 'computed' ? await respond(identity.answer, parsed.input, client) : identity
      if (body.kind === 'refused') return refuse(response, body.refusal)
      sendCurrent(response, body.answer, REGISTRY_CACHE_SECONDS)
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
    const page = identity.status === 'registered' ? await registry?.page(query, client) : undefined
    if (page?.kind === 'refused') return page
    return { kind: 'computed', answer: buildReputationBody(agent, identity, query, page?.answer) }
  })
  return router
}
