/** The table of all routes (contract 4): input, success response, and every possible refusal. */
import { MCP_ERRORS, type McpError } from '../../agent/operation/mcp-errors.ts'
import { A2A_PATH, FREE_PATHS, MCP_PATH, TESTNET_PATHS } from '../../agent/operation/paths.ts'
import { ROUTES } from '../../agent/operation/resource.ts'
import { WIRE_CODES, type RefusalCode } from '../../agent/operation/refusal.ts'
import type { OperationName } from '../../agent/operation/schema.ts'
import type { Terms } from '../../agent/payments/terms.ts'
import { SYNTHETIC_SOURCE } from '../../store/synthetic.ts'
import type { DocumentedDeployment } from './deployment.ts'
import {
  exampleAnswers,
  exampleCard,
  exampleMcpRequests,
  exampleMetadata,
  exampleRpcAnswers,
  exampleRpcRequests,
  KEY_SET,
  MCP_ANSWERS,
} from './examples.ts'
import { buildAttribution } from './metadata.ts'
import { EXAMPLE_REVIEWER, REGISTRY_EXAMPLES } from './registry-examples.ts'
import { OPENAPI_VERSION } from './registry-schemas.ts'
import type { SchemaName } from './schemas.ts'
import { buildServerJson } from './server-json.ts'

export interface RouteInput {
  /** For `body`, the schema is that of the body. Otherwise each member of the schema is a parameter. */
  in: 'path' | 'query' | 'body'
  schema: SchemaName
  /** By name. The first one gives the examples of parameters. */
  examples: (deployment: DocumentedDeployment) => Record<string, object>
}

export type ResponseContent =
  | { kind: 'text'; type: string }
  | { kind: 'json'; schema: SchemaName; examples: (deployment: DocumentedDeployment) => Record<string, object> }

export interface RouteDescription {
  operationId: string
  method: 'get' | 'post'
  path: string
  tag: 'Paid' | 'Agent' | 'Metadata' | 'Documents' | 'Registry'
  summary: string
  description: string
  input?: RouteInput
  contents: readonly ResponseContent[]
  refusals: readonly RefusalCode[]
  /** Refusals that clients should expect although this version does not send them. */
  reserved?: readonly RefusalCode[]
  /** JSON-RPC errors of the protocol. Those with status 200 are described by `contents`. */
  protocolErrors?: readonly McpError[]
  /** The operation, if the route has a fixed price. */
  sells?: OperationName
  /** Absent if A2A is disabled. */
  a2aOnly?: boolean
  /** Absent if MCP is disabled. */
  mcpOnly?: boolean
  /** Absent without a contact. */
  contactOnly?: boolean
  testnetOnly?: boolean
}

/** Refusals of every route. */
export const ANY_ROUTE = ['method_not_allowed', 'internal_error', 'overloaded', ...WIRE_CODES] as const

/** Refusals of every paid request, over both transports. */
const SALE = [
  'payment_required',
  'payment_invalid',
  'payment_rejected',
  'payment_failed',
  'payment_replay_conflict',
  'payment_already_settled',
  'rate_limited',
  'dataset_unavailable',
  'dataset_stale',
  'payment_verification_unavailable',
  'clock_wrong',
  'payment_outcome_unknown',
  ...ANY_ROUTE,
] as const

/** Refusals of an operation on an explicit company number. */
const BY_NUMBER = ['company_not_found', 'source_data_conflict'] as const

const BODY = ['body_too_large', 'unsupported_media_type'] as const

const PAID_ROUTES: readonly RouteDescription[] = [
  {
    ...paidRouteBase('lookup', 'CompanyResponse', { in: 'path', schema: 'LookupInput' }),
    operationId: 'lookupCompany',
    path: `${ROUTES.lookup.path}/{company_number}`,
    summary: 'One company by its number',
    description:
      'The record of one company in the current snapshot. No query string and no body are accepted. An unpaid request ' +
      'gets a quote, whether or not the company exists. A missing or quarantined record is not charged.',
    refusals: ['invalid_company_number', 'unexpected_input', ...BY_NUMBER, ...SALE],
  },
  {
    ...paidRouteBase('search', 'SearchResponse', { in: 'query', schema: 'SearchInput' }),
    operationId: 'searchCompanies',
    summary: 'Ranked search by name',
    description:
      'Up to ten companies, ranked by the similarity of their names, with the evidence for each. An empty list is an ' +
      'answer and is charged. Each parameter occurs at most once. A retry must repeat the whole query string.',
    refusals: ['invalid_query', 'duplicate_parameter', 'unexpected_input', 'query_too_broad', ...SALE],
    reserved: ['company_not_found', ...BODY],
  },
  {
    ...paidRouteBase('resolve', 'ResolveResponse', { in: 'body', schema: 'ResolveInput' }),
    operationId: 'resolveCompany',
    summary: 'Resolution of a name to one company',
    description:
      'One company for a name, with number, Eircode or address as evidence, or the reason why no company is certain: ' +
      '`ambiguous`, `conflicting` and `no_match` are answers and are charged. The body is JSON of at most 4 KiB without ' +
      'unknown fields; `name` or `company_number` is required. A missing or quarantined number is not charged. A retry must ' +
      'repeat URI, Content-Type and the exact body.',
    refusals: ['invalid_body', 'unexpected_input', 'query_too_broad', ...BODY, ...BY_NUMBER, ...SALE],
  },
]

const A2A_ROUTE: RouteDescription = {
  operationId: 'sendMessage',
  method: 'post',
  path: A2A_PATH,
  tag: 'Agent',
  summary: 'The three operations over A2A 1.0',
  description:
    'JSON-RPC, synchronous, direct Messages only, at most 16 KiB. A text part gets usage instructions, free. A data ' +
    'part `{operation, input}` is paid like the REST resource that its quote names, at the same price. Payment and ' +
    'service errors have the REST status and body. Protocol errors are JSON-RPC errors with status 200.',
  input: { in: 'body', schema: 'RpcRequest', examples: exampleRpcRequests },
  contents: [json('RpcResponse', exampleRpcAnswers)],
  refusals: [
    'invalid_company_number',
    'invalid_query',
    'invalid_body',
    'query_too_broad',
    'gateway_unavailable',
    ...BODY,
    ...BY_NUMBER,
    ...SALE,
  ],
  a2aOnly: true,
}

const MCP_ROUTE: RouteDescription = {
  operationId: 'callTool',
  method: 'post',
  path: MCP_PATH,
  tag: 'Agent',
  summary: 'The three operations as tools of MCP',
  description:
    'Streamable HTTP without sessions, at most 16 KiB. Quotes, answers and errors of a tool are results of `tools/call` ' +
    'with status 200. The payment is in `_meta["x402/payment"]`.',
  input: { in: 'body', schema: 'McpRequest', examples: exampleMcpRequests },
  contents: [json('McpResponse', () => MCP_ANSWERS), text('text/event-stream')],
  refusals: ['invalid_body', 'origin_not_allowed', 'rate_limited', ...BODY, ...ANY_ROUTE],
  protocolErrors: MCP_ERRORS,
  mcpOnly: true,
}

const FREE_ROUTES: readonly RouteDescription[] = [
  {
    ...freeRoute(
      'getMetadata',
      FREE_PATHS.metadata,
      'Operations, prices, receiver of payments, and state of the dataset',
      [json('Metadata', (deployment) => ({ ready: exampleMetadata(deployment) }))],
    ),
    tag: 'Metadata',
    refusals: ['dataset_unavailable', ...ANY_ROUTE],
  },
  {
    ...freeRoute('getAttribution', FREE_PATHS.attribution, 'The attribution to show with the data', [
      json('Attribution', () => ({ synthetic: buildAttribution(SYNTHETIC_SOURCE) })),
    ]),
    tag: 'Metadata',
  },
  freeRoute('getGuide', FREE_PATHS.guide, 'The HTML guide, or the markdown guide for `Accept: text/markdown`', [
    text('text/html'),
    text('text/markdown'),
  ]),
  freeRoute('getApiGuide', FREE_PATHS.apiGuide, 'The markdown guide: every route, parameter, price and error', [
    text('text/markdown'),
  ]),
  freeRoute('getA2aGuide', FREE_PATHS.a2aGuide, 'The guide to buying over A2A 1.0', [text('text/plain')]),
  freeRoute('getMcpGuide', FREE_PATHS.mcpGuide, 'The guide to buying over MCP', [text('text/plain')]),
  freeRoute('getLlmsTxt', FREE_PATHS.llmsTxt, 'Short instructions for agents, and links', [text('text/plain')]),
  freeRoute('getOpenApi', FREE_PATHS.openApi, 'This description, in OpenAPI 3.1', [
    json('OpenApiDocument', () => ({ version: { openapi: OPENAPI_VERSION } })),
  ]),
  {
    ...freeRoute('getServerJson', FREE_PATHS.serverJson, 'The MCP server, for MCP registries', [
      json('McpServer', (deployment) => ({ remote: buildServerJson(deployment) })),
    ]),
    tag: 'Agent',
    mcpOnly: true,
  },
  freeRoute('getRobotsTxt', FREE_PATHS.robotsTxt, 'Crawlers may read the documents, but not the paid routes', [
    text('text/plain'),
  ]),
  {
    ...freeRoute('getSecurityTxt', FREE_PATHS.securityTxt, 'The contact for security reports (RFC 9116)', [
      text('text/plain'),
    ]),
    contactOnly: true,
  },
  {
    ...freeRoute('getKeys', FREE_PATHS.jwks, 'The ES256 keys that verify the signature of the agent card', [
      json('KeySet', () => ({ rfc7517: KEY_SET })),
    ]),
    tag: 'Agent',
  },
  {
    ...freeRoute('getAgentCard', FREE_PATHS.agentCard, 'The signed A2A 1.0 agent card, or 404 if A2A is disabled', [
      json('AgentCard', (deployment) => ({ short: exampleCard(deployment) })),
    ]),
    tag: 'Agent',
    refusals: ['not_found', ...ANY_ROUTE],
  },
]

const TESTNET_ROUTES: readonly RouteDescription[] = [
  registryRoute(
    'getAgentRegistration',
    TESTNET_PATHS.registrationFile,
    'ERC-8004 registration file',
    'RegistrationFile',
  ),
  registryRoute(
    'getRegistryIdentity',
    TESTNET_PATHS.registryIdentity,
    'Entry of this agent on chain',
    'RegistryIdentity',
  ),
  {
    ...registryRoute('getReputation', TESTNET_PATHS.reputation, 'On-chain feedback of one reviewer', 'ReputationPage'),
    input: { in: 'query', schema: 'ReputationQuery', examples: () => ({ first: { client: EXAMPLE_REVIEWER } }) },
  },
  {
    ...freeRoute(
      'getTestClient',
      TESTNET_PATHS.testnetClient,
      'Test client in one Python file without dependencies: it buys the synthetic company. Testnet only',
      [text('text/x-python')],
    ),
    reserved: ['not_found'],
    testnetOnly: true,
  },
]

const ALL_ROUTES: readonly RouteDescription[] = [
  ...PAID_ROUTES,
  A2A_ROUTE,
  MCP_ROUTE,
  ...FREE_ROUTES,
  ...TESTNET_ROUTES,
]

interface RouteSelection extends Pick<DocumentedDeployment, 'a2aEnabled' | 'mcpEnabled' | 'contactEmail'> {
  terms: Pick<Terms, 'mode'>
}

/** The routes of one deployment. */
export function listRoutes({ terms, a2aEnabled, mcpEnabled, contactEmail }: RouteSelection) {
  return ALL_ROUTES.filter(
    ({ testnetOnly = false, a2aOnly = false, mcpOnly = false, contactOnly = false }) =>
      (terms.mode === 'testnet' || !testnetOnly) &&
      (a2aEnabled || !a2aOnly) &&
      (mcpEnabled || !mcpOnly) &&
      (contactEmail !== undefined || !contactOnly),
  )
}

/** Paid routes have payment headers. */
export function isPaid({ sells, a2aOnly = false }: RouteDescription): boolean {
  return sells !== undefined || a2aOnly
}

/** Free documents have an ETag, and conditional requests get 304. */
export function isDocument(route: RouteDescription): boolean {
  return !isPaid(route) && route.method === 'get'
}

/** The members of a paid route that follow from its operation. */
function paidRouteBase(sells: OperationName, schema: SchemaName, input: Pick<RouteInput, 'in' | 'schema'>) {
  const { method, path } = ROUTES[sells]
  const examples = (deployment: DocumentedDeployment) =>
    Object.fromEntries(deployment.examples[sells].map((value, at) => [`example_${at + 1}`, value]))
  return {
    method: method === 'GET' ? 'get' : 'post',
    path,
    tag: 'Paid',
    sells,
    input: { ...input, examples },
    contents: [json(schema, (deployment) => exampleAnswers(deployment)[sells])],
  } as const
}

function freeRoute(operationId: string, path: string, summary: string, contents: ResponseContent[]): RouteDescription {
  const description = `${summary}.`
  return { operationId, method: 'get', path, tag: 'Documents', summary, description, contents, refusals: ANY_ROUTE }
}

/** A registry route with its refusals (contract 4.4.8). */
function registryRoute(
  operationId: string,
  path: string,
  summary: string,
  schema: keyof typeof REGISTRY_EXAMPLES,
): RouteDescription {
  return {
    ...freeRoute(operationId, path, summary, [json(schema, REGISTRY_EXAMPLES[schema])]),
    tag: 'Registry',
    description: `${summary}. Testnet only. The status is \`not_registered\` if no identity is configured.`,
    refusals: ['invalid_query', 'duplicate_parameter', 'rate_limited', 'registry_unchecked', ...ANY_ROUTE],
    reserved: ['not_found'],
    testnetOnly: true,
  }
}

type JsonContent = Extract<ResponseContent, { kind: 'json' }>

function json(schema: SchemaName, examples: JsonContent['examples']): JsonContent {
  return { kind: 'json', schema, examples }
}

function text(type: string): ResponseContent {
  return { kind: 'text', type }
}
