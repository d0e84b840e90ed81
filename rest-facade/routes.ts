/**
 * Every route that programs use (contract 4): path, method, description and handler. The application registers this
 * list, and OpenAPI describes it. Pages, guides and files of the page are registered by `app.ts`.
 */
import type { RequestHandler } from 'express'
import { MCP_ERRORS } from '../agent/transport/mcp/protocol-error.ts'
import { a2aHandler } from '../agent/transport/a2a/route.ts'
import { mcpHandler } from '../agent/transport/mcp/route.ts'
import { refuse } from '../agent/transport/http/response.ts'
import {
  A2A_PATH,
  A2A_VERSION,
  FREE_PATHS,
  MCP_PATH,
  paymentExtensionUri,
  TESTNET_PATHS,
} from '../agent/operation/endpoints.ts'
import { inputFaults, type OperationDefinition } from '../agent/operation/operation.ts'
import type { RefusalCode } from '../agent/operation/refusal.ts'
import { PAYMENT_HEADERS, type Terms } from '../agent/payment/terms.ts'
import type { RegisteredRoute } from './add-route.ts'
import { CACHE_SECONDS, sendCurrent } from './document.ts'
import {
  ANY_ROUTE,
  BODY,
  describeParameters,
  jsonContent,
  jsonBody,
  PAYMENT_REF,
  SALE,
  type Description,
} from './documents/description.ts'
import { exampleMcpRequest, exampleRpcRequest, type DocumentedDeployment } from './documents/examples.ts'
import { currentAttribution, currentMetadata } from './documents/metadata.ts'
import { describePaid, paidHandler } from './paid.ts'
import { reputationQuerySchema } from './registry/bodies.ts'
import type { RegistryHandlers } from './registry.ts'

/** Clients must see a change of the dataset at once. */
const METADATA_CACHE_SECONDS = 0

/** What the handlers need. */
export interface RouteParts {
  paid: Parameters<typeof paidHandler>[1]
  a2a: Parameters<typeof a2aHandler>[0]
  mcp: Parameters<typeof mcpHandler>[0]
  facts: Parameters<typeof currentMetadata>[0]
  registry: RegistryHandlers
  /** Answers with the current document of a path. */
  document: (path: string) => RequestHandler
}

/** A route cannot be registered without a description, or described without a handler. */
interface Route extends RegisteredRoute {
  describe: (deployment: DocumentedDeployment) => Description
  open: (parts: RouteParts) => RequestHandler
}

export function listRoutes({ terms, a2aEnabled }: { terms: Terms; a2aEnabled: boolean }): Route[] {
  return [
    ...terms.operations.map(paidRoute),
    ...(a2aEnabled ? [A2A_ROUTE] : []),
    MCP_ROUTE,
    ...FREE_ROUTES,
    ...(terms.mode === 'testnet' ? REGISTRY_ROUTES : []),
  ]
}

export type DescribedRoute = Description & { method: 'get' | 'post'; path: string }

export function describeRoutes(deployment: DocumentedDeployment): DescribedRoute[] {
  return listRoutes(deployment).map(({ allow, path, describe }) =>
    Object.assign(describe(deployment), { method: allow === 'POST' ? 'post' : 'get', path } as const),
  )
}

/** Free documents have an ETag, and conditional requests get 304. */
export function isDocument({ headers }: Description): boolean {
  return headers.includes('ETag')
}

const paidRoute = (definition: OperationDefinition): Route => ({
  allow: definition.method,
  path: definition.path,
  describe: (deployment) => describePaid(definition, deployment),
  open: ({ paid }) => paidHandler(definition, paid),
})

const A2A_ROUTE: Route = {
  allow: 'POST',
  path: A2A_PATH,
  open: ({ a2a }) => a2aHandler(a2a),
  describe: (deployment) => ({
    operationId: 'sendMessage',
    tag: 'Agent',
    summary: 'The operations over A2A 1.0',
    description:
      'JSON-RPC, synchronous, direct Messages only, at most 16 KiB. A text part gets usage instructions, free. A data ' +
      'part `{operation, input}` is paid like the REST resource that its quote names, at the same price. Payment and ' +
      'service errors have the REST status and body. Protocol errors are JSON-RPC errors with status 200.',
    request: {
      parameters: [...a2aParameters(deployment), PAYMENT_REF],
      requestBody: jsonBody('RpcRequest', exampleRpcRequest(deployment)),
    },
    content: jsonContent('RpcResponse'),
    headers: [PAYMENT_HEADERS.response],
    refusals: [
      ...new Set<RefusalCode>([
        ...deployment.terms.operations.flatMap(inputFaults),
        'invalid_body',
        'gateway_unavailable',
        ...BODY,
        ...deployment.terms.operations.flatMap(({ refusals }) => refusals),
      ]),
      ...SALE,
    ],
  }),
}

const a2aParameters = ({ baseUrl }: DocumentedDeployment) => [
  {
    name: 'A2A-Version',
    in: 'header',
    required: true,
    description: 'The protocol version.',
    schema: { type: 'string', pattern: '^1\\.0(\\.[0-9]+)?$' },
    example: A2A_VERSION,
  },
  {
    name: 'A2A-Extensions',
    in: 'header',
    required: false,
    description: 'Must contain the URI of the payment extension, from the agent card, for every structured request.',
    schema: { type: 'string' },
    example: paymentExtensionUri(baseUrl),
  },
]

const MCP_ROUTE: Route = {
  allow: 'POST',
  path: MCP_PATH,
  open: ({ mcp }) => mcpHandler(mcp),
  describe: (deployment) => ({
    operationId: 'callTool',
    tag: 'Agent',
    summary: 'The operations as tools of MCP',
    description:
      'Streamable HTTP without sessions, at most 16 KiB. Quotes, answers and errors of a tool are results of `tools/call` ' +
      'with status 200. The payment is in `_meta["x402/payment"]`.',
    request: { requestBody: jsonBody('RpcRequest', exampleMcpRequest(deployment)) },
    content: {
      ...jsonContent('RpcResponse'),
      'text/event-stream': { schema: { type: 'string' } },
    },
    headers: [],
    refusals: ['invalid_body', 'origin_not_allowed', ...BODY, ...ANY_ROUTE],
    protocolErrors: MCP_ERRORS,
  }),
}

const DOCUMENT = jsonContent('Document')

const FREE_ROUTES: readonly Route[] = [
  free(
    'getMetadata',
    FREE_PATHS.metadata,
    'Operations, prices, receiver of payments, and state of the dataset',
    { content: jsonContent('Metadata'), tag: 'Metadata', refusals: ['dataset_unavailable', ...ANY_ROUTE] },
    ({ facts }) =>
      (_request, response) => {
        const metadata = currentMetadata(facts)
        if (!metadata) return refuse(response, { code: 'dataset_unavailable' })
        sendCurrent(response, metadata, METADATA_CACHE_SECONDS)
      },
  ),
  free(
    'getAttribution',
    FREE_PATHS.attribution,
    'The attribution to show with the data',
    { content: jsonContent('Attribution'), tag: 'Metadata' },
    ({ facts }) =>
      (_request, response) =>
        sendCurrent(response, currentAttribution(facts), CACHE_SECONDS),
  ),
  free('getOpenApi', FREE_PATHS.openApi, 'This description, in OpenAPI 3.1'),
  free('getX402Manifest', FREE_PATHS.x402, 'The paid routes, for catalogues of x402 services'),
  free('getKeys', FREE_PATHS.jwks, 'The ES256 keys that verify receipts and the signature of the agent card', {
    content: jsonContent('KeySet'),
    tag: 'Agent',
  }),
  free('getAgentCard', FREE_PATHS.agentCard, 'The signed A2A 1.0 agent card, or 404 if A2A is disabled', {
    tag: 'Agent',
    headers: ['ETag', 'Last-Modified'],
    refusals: ['not_found', ...ANY_ROUTE],
  }),
]

/** The reviewer of the example is an account of the well-known test mnemonic. */
const REVIEWER = { client: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC' }

const REGISTRY_ROUTES: readonly Route[] = [
  registryRoute('getAgentRegistration', 'registrationFile', 'ERC-8004 registration file'),
  registryRoute('getRegistryIdentity', 'registryIdentity', 'Entry of this agent on chain'),
  registryRoute('getReputation', 'reputation', 'On-chain feedback of one reviewer', {
    parameters: describeParameters(reputationQuerySchema, { example: REVIEWER }),
  }),
]

/** A route that anyone can read. By default it answers with the current document of its path. */
function free(
  operationId: string,
  path: string,
  summary: string,
  others: Partial<Description> = {},
  open: Route['open'] = ({ document }) => document(path),
): Route {
  const described = {
    operationId,
    tag: 'Documents',
    summary,
    description: `${summary}.`,
    content: DOCUMENT,
    headers: ['ETag'],
    refusals: ANY_ROUTE,
    ...others,
  } as const
  return { allow: 'GET, HEAD', path, ignoresUrl: true, open, describe: () => ({ ...described }) }
}

/** A registry route with its refusals (contract 4.4.8). */
function registryRoute(operationId: string, name: keyof RegistryHandlers, summary: string, request?: object): Route {
  const others: Partial<Description> = {
    tag: 'Registry',
    description: `${summary}. Testnet only.`,
    ...(request && { request }),
    refusals: ['invalid_query', 'duplicate_parameter', 'registry_unchecked', ...ANY_ROUTE],
    reserved: ['not_found'],
  }
  const route = free(operationId, TESTNET_PATHS[name], summary, others, ({ registry }) => registry[name])
  return { ...route, ignoresUrl: false }
}
