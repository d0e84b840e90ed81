/** Every route of the contract (spec 4) in one table: what it is, what it answers with, and every refusal it can give. */
import { EXAMPLE_INPUTS } from '../../agent/operation/examples.ts'
import { API_PREFIX, ROUTES } from '../../agent/operation/resource.ts'
import type { RefusalCode } from '../../agent/operation/refusal.ts'
import type { OperationName } from '../../agent/operation/schema.ts'
import {
  LOOKUP_ANSWER,
  RESOLVE_ANSWER,
  RESOLVE_WITHOUT_MATCH,
  SEARCH_ANSWER,
  SEARCH_WITHOUT_MATCH,
} from './examples.ts'
import type { SchemaName } from './schemas.ts'

type Tag = 'Paid' | 'Metadata' | 'Documents' | 'Agent' | 'Registry'

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description: string
  schema: Record<string, unknown>
  example?: unknown
}

export interface Content {
  type: string
  schema: SchemaName | 'text'
  /** By name. Those of a deployment's own values are in examples.ts. */
  examples?: Record<string, unknown>
}

export interface Route {
  operationId: string
  method: 'get' | 'post'
  path: string
  tag: Tag
  summary: string
  description: string
  /** What it sells. */
  sells?: OperationName
  parameters?: readonly Parameter[]
  success: { description: string; contents: readonly Content[] }
  /** Whether GET answers 304 to the ETag it gave. */
  isCached?: boolean
  refusals: readonly RefusalCode[]
  testnetOnly?: boolean
  /** Gone when A2A is disabled. */
  a2aOnly?: boolean
}

/** What any route can answer with. */
const ANYWHERE = ['internal_error', 'overloaded'] as const
const FREE = ['method_not_allowed', ...ANYWHERE] as const

/** What every sale can end with, by either door. */
const SALE = [
  'payment_required',
  'payment_invalid',
  'payment_rejected',
  'payment_failed',
  'company_not_found',
  'method_not_allowed',
  'source_data_conflict',
  'payment_replay_conflict',
  'rate_limited',
  'dataset_unavailable',
  'dataset_stale',
  'payment_verification_unavailable',
  'payment_outcome_unknown',
  ...ANYWHERE,
] as const

const BODY = ['body_too_large', 'unsupported_media_type'] as const

const json = (schema: SchemaName, examples?: Record<string, unknown>): Content => ({
  type: 'application/json',
  schema,
  ...(examples && { examples }),
})
const text = (type: string): Content => ({ type, schema: 'text' })

const PAID_ROUTES: readonly Route[] = [
  {
    operationId: 'lookupCompany',
    method: 'get',
    path: `${ROUTES.lookup.path}/{company_number}`,
    tag: 'Paid',
    summary: 'One company by its number',
    description:
      'The record of one company in the current snapshot. No query string and no body are accepted. An unpaid request ' +
      'gets a quote whether or not the company exists; a missing or quarantined record is not charged.',
    sells: 'lookup',
    success: { description: 'The company.', contents: [json('CompanyResponse', { synthetic: LOOKUP_ANSWER })] },
    refusals: ['invalid_company_number', 'unexpected_input', ...SALE],
  },
  {
    operationId: 'searchCompanies',
    method: 'get',
    path: ROUTES.search.path,
    tag: 'Paid',
    summary: 'Ranked search by name',
    description:
      'Up to ten companies ranked by how well their names fit, with the evidence for each. An empty list is an answer ' +
      'and is charged. Each parameter at most once; a retry keeps the whole query string.',
    sells: 'search',
    success: {
      description: 'The candidates, best first; the list may be empty.',
      contents: [json('SearchResponse', { candidates: SEARCH_ANSWER, nothing: SEARCH_WITHOUT_MATCH })],
    },
    refusals: ['invalid_query', 'duplicate_parameter', 'unexpected_input', 'query_too_broad', ...BODY, ...SALE],
  },
  {
    operationId: 'resolveCompany',
    method: 'post',
    path: ROUTES.resolve.path,
    tag: 'Paid',
    summary: 'A name to a single company',
    description:
      'One company for a name, with number, Eircode or address as evidence, or why there is none: `ambiguous`, ' +
      '`conflicting` and `no_match` are answers and are charged. The body is JSON of at most 4 KiB without unknown ' +
      'fields, with `name` or `company_number` or both. A retry keeps URI, Content-Type and the exact body.',
    sells: 'resolve',
    success: {
      description: 'The outcome; `match` is set only when `status` is `matched`.',
      contents: [json('ResolveResponse', { matched: RESOLVE_ANSWER, no_match: RESOLVE_WITHOUT_MATCH })],
    },
    refusals: ['invalid_body', 'unexpected_input', 'query_too_broad', ...BODY, ...SALE],
  },
]

const A2A_ROUTE: Route = {
  operationId: 'sendMessage',
  method: 'post',
  path: '/a2a',
  tag: 'Agent',
  summary: 'The three operations over A2A 1.0',
  description:
    'JSON-RPC, synchronous, direct Messages only, at most 16 KiB. A text part gets usage instructions, free. A data ' +
    'part `{operation, input}` is paid like the REST resource that its quote names; payment and service errors keep ' +
    'the REST status and body, protocol errors are JSON-RPC errors with status 200. Prices are those of the REST routes.',
  parameters: [
    {
      name: 'A2A-Version',
      in: 'header',
      required: true,
      description: 'The protocol version.',
      schema: { type: 'string', const: '1.0' },
      example: '1.0',
    },
    {
      name: 'A2A-Extensions',
      in: 'header',
      description: 'Must name the payment extension on every structured request.',
      schema: { type: 'string' },
    },
  ],
  success: {
    description: 'A direct Message, or a JSON-RPC protocol error.',
    contents: [json('RpcMessage')],
  },
  refusals: [
    'invalid_company_number',
    'invalid_query',
    'invalid_body',
    'query_too_broad',
    'gateway_unavailable',
    ...BODY,
    ...SALE,
  ],
  a2aOnly: true,
}

/** Names, number and place of each free document; the rest is the same for all of them. */
const FREE_ROUTES: readonly Route[] = [
  {
    operationId: 'getMetadata',
    method: 'get',
    path: `${API_PREFIX}/meta`,
    tag: 'Metadata',
    summary: 'Prices, receiver and state of the dataset',
    description: 'What is sold, from which snapshot, at what price, and to whom it is paid. No payment.',
    success: { description: 'The metadata.', contents: [json('Metadata')] },
    isCached: true,
    refusals: ['dataset_unavailable', ...FREE],
  },
  {
    operationId: 'getAttribution',
    method: 'get',
    path: '/attribution',
    tag: 'Metadata',
    summary: 'Source and licence of the data',
    description: 'What to say beside the data (CC BY 4.0).',
    success: { description: 'The attribution.', contents: [json('Attribution')] },
    isCached: true,
    refusals: FREE,
  },
  free('getGuide', '/docs', 'Guide', 'The HTML guide; the markdown one for `Accept: text/markdown`.', [
    text('text/html'),
    text('text/markdown'),
  ]),
  free('getApiGuide', '/docs/api.md', 'Guide in markdown', 'Every route, parameter, price and error.', [
    text('text/markdown'),
  ]),
  free('getA2aGuide', '/docs/a2a.md', 'Guide to the agent', 'How to buy over A2A 1.0.', [text('text/plain')]),
  free('getLlmsTxt', '/llms.txt', 'Instructions for agents', 'What an agent must know first, and links.', [
    text('text/plain'),
  ]),
  free('getOpenApi', '/openapi.json', 'This description', 'OpenAPI 3.1.', [json('OpenApiDocument')]),
  free('getRobotsTxt', '/robots.txt', 'Rules for crawlers', 'Documents may be read, paid routes need no crawling.', [
    text('text/plain'),
  ]),
  free(
    'getKeys',
    '/.well-known/jwks.json',
    'Public keys of the card',
    'ES256 keys that agent cards are signed with.',
    [json('KeySet')],
    'Agent',
  ),
  {
    ...free(
      'getAgentCard',
      '/.well-known/agent-card.json',
      'Agent card',
      'A2A 1.0 agent card, signed; 404 when A2A is disabled.',
      [json('AgentCard')],
      'Agent',
    ),
    refusals: ['not_found', ...FREE],
  },
]

/** What a registry's route can answer with besides: spec 4.4. */
const REGISTRY = [
  'invalid_query',
  'duplicate_parameter',
  'not_found',
  'rate_limited',
  'registry_unchecked',
  ...FREE,
] as const

const REPUTATION_PARAMETERS: readonly Parameter[] = [
  {
    name: 'client',
    in: 'query',
    required: true,
    description: 'Address of the reviewer.',
    schema: { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' },
    example: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  },
  {
    name: 'start',
    in: 'query',
    description: 'Index of the first entry.',
    schema: { type: 'integer', minimum: 1, default: 1 },
  },
  {
    name: 'limit',
    in: 'query',
    description: 'The most entries to return.',
    schema: { type: 'integer', minimum: 1, maximum: 10, default: 10 },
  },
]

/** ERC-8004 and the test client, on testnet only. */
const TESTNET_ROUTES: readonly Route[] = [
  registry({
    operationId: 'getAgentRegistration',
    path: '/.well-known/agent-registration.json',
    summary: 'ERC-8004 registration file',
    schema: 'RegistrationFile',
  }),
  registry({
    operationId: 'getRegistryIdentity',
    path: '/agent.json',
    summary: 'What the ERC-8004 identity registry says of this agent',
    schema: 'RegistryIdentity',
  }),
  {
    ...registry({
      operationId: 'getReputation',
      path: `${API_PREFIX}/reputation`,
      summary: 'Feedback of one reviewer, as it stands on chain',
      schema: 'ReputationPage',
    }),
    parameters: REPUTATION_PARAMETERS,
  },
  {
    operationId: 'getTestClient',
    method: 'get',
    path: '/testnet-client.py',
    tag: 'Documents',
    summary: 'Test client in Python',
    description: 'One file, standard library only, that buys the lookup of the synthetic company. Testnet only.',
    success: { description: 'The program.', contents: [text('text/x-python')] },
    isCached: true,
    refusals: ['not_found', ...FREE],
    testnetOnly: true,
  },
]

const ALL_ROUTES: readonly Route[] = [...PAID_ROUTES, A2A_ROUTE, ...FREE_ROUTES, ...TESTNET_ROUTES]

/** The routes of one deployment. */
export function routesOf({ isTestnet, a2aEnabled }: { isTestnet: boolean; a2aEnabled: boolean }): readonly Route[] {
  return ALL_ROUTES.filter(
    ({ testnetOnly = false, a2aOnly = false }) => (isTestnet || !testnetOnly) && (a2aEnabled || !a2aOnly),
  )
}

/** The first example of what a paid route takes. */
export function exampleInput(operation: OperationName): Record<string, unknown> {
  return EXAMPLE_INPUTS[operation][0]
}

function free(
  operationId: string,
  path: string,
  summary: string,
  description: string,
  contents: readonly Content[],
  tag: Tag = 'Documents',
): Route {
  const success = { description: `${summary}.`, contents }
  return { operationId, method: 'get', path, tag, summary, description, success, isCached: true, refusals: FREE }
}

interface RegistryRoute extends Pick<Route, 'operationId' | 'path' | 'summary'> {
  schema: SchemaName
}

function registry({ operationId, path, summary, schema }: RegistryRoute): Route {
  return {
    operationId,
    method: 'get',
    path,
    tag: 'Registry',
    summary,
    description: `${summary}. Testnet only. An identity that is not configured is reported as \`not_registered\`.`,
    success: { description: 'What is registered.', contents: [json(schema)] },
    isCached: true,
    refusals: REGISTRY,
    testnetOnly: true,
  }
}
