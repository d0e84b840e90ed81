/**
 * The table of the routes that programs use (contract 4): input and answer as OpenAPI describes them, and every
 * possible refusal. Pages, guides and the catalogue of the APIs are not in it.
 */
import { isDeepStrictEqual } from 'node:util'
import type * as z from 'zod'
import { MCP_ERRORS, type McpError } from '../../agent/transport/mcp/protocol-error.ts'
import {
  A2A_PATH,
  A2A_VERSION,
  FREE_PATHS,
  MCP_PATH,
  paymentExtensionUri,
  TESTNET_PATHS,
} from '../../agent/operation/endpoints.ts'
import { toJsonSchema } from '../../agent/operation/json-schema.ts'
import { inputFaults, queryMembers, type OperationDefinition } from '../../agent/operation/operation.ts'
import { WIRE_CODES, type RefusalCode } from '../../agent/operation/refusal.ts'
import { fieldSchema } from '../../agent/operation/result.ts'
import { describeStatus } from '../../agent/operation/statuses.ts'
import { PAYMENT_HEADERS, toUsdc, type Terms } from '../../agent/payment/terms.ts'
import { exampleMcpRequest, exampleRpcRequest, type DocumentedDeployment } from './examples.ts'
import { reputationQuerySchema } from '../registry/bodies.ts'
import { base64Of, inputName, schemaRef } from './component-schemas.ts'

export interface Route {
  operationId: string
  method: 'get' | 'post'
  path: string
  tag: 'Paid' | 'Agent' | 'Metadata' | 'Documents' | 'Registry'
  summary: string
  description: string
  /** Members of the operation in OpenAPI: its price, parameters and body. */
  request?: object
  /** The bodies of 200 in OpenAPI, by media type. */
  content: Record<string, object>
  /** The headers of 200, besides those of every answer. */
  headers: readonly string[]
  refusals: readonly RefusalCode[]
  /** Refusals that clients should expect although this version does not send them. */
  reserved?: readonly RefusalCode[]
  /** JSON-RPC errors of the protocol. Those with status 200 are described by `content`. */
  protocolErrors?: readonly McpError[]
}

export const ANY_ROUTE = ['method_not_allowed', 'rate_limited', 'internal_error', 'overloaded', ...WIRE_CODES] as const

/** Refusals of every paid request, over REST, A2A and MCP. */
const SALE = [
  'payment_required',
  'payment_invalid',
  'payment_rejected',
  'payment_failed',
  'payment_replay_conflict',
  'payment_already_settled',
  'dataset_unavailable',
  'dataset_stale',
  'payment_verification_unavailable',
  'clock_wrong',
  'payment_outcome_unknown',
  ...ANY_ROUTE,
] as const

const BODY = ['body_too_large', 'unsupported_media_type'] as const

export const PAYMENT_PARAMETER = {
  name: PAYMENT_HEADERS.request,
  in: 'header',
  required: false,
  description: 'The payment: base64 of an x402 v2 PaymentPayload, at most 8 KiB. A request without it gets a quote.',
  schema: base64Of('Payment'),
}

const PAYMENT_REF = { $ref: `#/components/parameters/${PAYMENT_HEADERS.request}` }

function paidRoute(definition: OperationDefinition, { terms, exampleCompany, statuses }: DocumentedDeployment): Route {
  const { name, method, path, inputSchema, answerName, reserved = [], skill, tool } = definition
  const hasQuery = queryMembers(definition).length > 0
  const examples = definition.examples(exampleCompany)
  const members = method === 'GET' ? describeParameters(inputSchema, { path, statuses, example: examples[0] }) : []
  return {
    operationId: tool.name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    method: method === 'GET' ? 'get' : 'post',
    path,
    tag: 'Paid',
    summary: skill.name,
    description: `${skill.description} ${describeRequest(definition)} ${tool.size}`,
    request: {
      // The price in the form that x402 directories read.
      'x-payment-info': { price: { currency: 'USD', ...priceRange(definition, terms) }, protocols: [{ x402: {} }] },
      parameters: [...members, PAYMENT_REF],
      ...(method === 'POST' && { requestBody: jsonBody(inputName(name), examples[0]) }),
    },
    content: json(answerName, definition.exampleAnswer(terms.mode)),
    headers: [PAYMENT_HEADERS.response],
    refusals: [
      ...inputFaults(definition),
      ...(hasQuery ? (['duplicate_parameter'] as const) : []),
      'unexpected_input',
      ...(method === 'POST' ? BODY : []),
      ...definition.refusals,
      ...SALE,
    ],
    reserved,
  }
}

function priceRange(definition: OperationDefinition, { mode }: Terms) {
  if (definition.kind === 'single') return { mode: 'fixed', amount: String(toUsdc(definition.prices[mode])) }
  const prices = definition.operations.map((each) => each.prices[mode])
  const totals = definition.operations.map((each) => each.prices[mode] * (each.batchInputsMax ?? 0))
  return { mode: 'dynamic', min: String(toUsdc(Math.min(...prices))), max: String(toUsdc(Math.max(...totals))) }
}

/** Each member of the schema as a parameter of path or query. */
function describeParameters(
  inputSchema: z.ZodType,
  { path = '', statuses = '', example = {} }: { path?: string; statuses?: string; example?: object | undefined },
) {
  const { properties, required = [] } = toJsonSchema(inputSchema, 'input') as {
    properties: Record<string, Record<string, unknown>>
    required?: string[]
  }
  const examples = new Map(Object.entries(example))
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: path.includes(`{${name}}`) ? 'path' : 'query',
    required: required.includes(name),
    description: name === 'status' ? describeStatus(String(description), statuses) : String(description),
    schema:
      schema['enum'] && isDeepStrictEqual(schema['enum'], fieldSchema.options) ? schemaRef('CompanyField') : schema,
    // A list is one parameter whose items are separated by commas.
    explode: schema['type'] === 'array' ? false : undefined,
    example: examples.get(name) as unknown,
  }))
}

function describeRequest(definition: OperationDefinition): string {
  const { method, bodyBytesMax = 0 } = definition
  if (method === 'POST')
    return `The body is JSON of at most ${bodyBytesMax / 1024} KiB. A retry must repeat URI, Content-Type and the exact body.`
  return queryMembers(definition).length > 0
    ? 'Each parameter occurs at most once. A retry must repeat the whole query string.'
    : 'No query string and no body are accepted.'
}

function a2aRoute(deployment: DocumentedDeployment): Route {
  const { operations } = deployment.terms
  return {
    operationId: 'sendMessage',
    method: 'post',
    path: A2A_PATH,
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
    content: json('RpcResponse'),
    headers: [PAYMENT_HEADERS.response],
    refusals: [
      ...new Set<RefusalCode>([
        ...operations.flatMap(inputFaults),
        'invalid_body',
        'gateway_unavailable',
        ...BODY,
        ...operations.flatMap(({ refusals }) => refusals),
      ]),
      ...SALE,
    ],
  }
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

const mcpRoute = (deployment: DocumentedDeployment): Route => ({
  operationId: 'callTool',
  method: 'post',
  path: MCP_PATH,
  tag: 'Agent',
  summary: 'The operations as tools of MCP',
  description:
    'Streamable HTTP without sessions, at most 16 KiB. Quotes, answers and errors of a tool are results of `tools/call` ' +
    'with status 200. The payment is in `_meta["x402/payment"]`.',
  request: { requestBody: jsonBody('RpcRequest', exampleMcpRequest(deployment)) },
  content: {
    ...json('RpcResponse'),
    'text/event-stream': { schema: { type: 'string' } },
  },
  headers: [],
  refusals: ['invalid_body', 'origin_not_allowed', ...BODY, ...ANY_ROUTE],
  protocolErrors: MCP_ERRORS,
})

const DOCUMENT = json('Document')

const FREE_ROUTES: readonly Route[] = [
  free(
    'getMetadata',
    FREE_PATHS.metadata,
    'Operations, prices, receiver of payments, and state of the dataset',
    json('Metadata'),
    { tag: 'Metadata', refusals: ['dataset_unavailable', ...ANY_ROUTE] },
  ),
  free('getAttribution', FREE_PATHS.attribution, 'The attribution to show with the data', json('Attribution'), {
    tag: 'Metadata',
  }),
  free('getOpenApi', FREE_PATHS.openApi, 'This description, in OpenAPI 3.1', DOCUMENT),
  free('getX402Manifest', FREE_PATHS.x402, 'The paid routes, for catalogues of x402 services', DOCUMENT),
  free(
    'getKeys',
    FREE_PATHS.jwks,
    'The ES256 keys that verify receipts and the signature of the agent card',
    json('KeySet'),
    { tag: 'Agent' },
  ),
  free('getAgentCard', FREE_PATHS.agentCard, 'The signed A2A 1.0 agent card, or 404 if A2A is disabled', DOCUMENT, {
    tag: 'Agent',
    headers: ['ETag', 'Last-Modified'],
    refusals: ['not_found', ...ANY_ROUTE],
  }),
]

/** The reviewer of the example is an account of the well-known test mnemonic. */
const REVIEWER = { client: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC' }

const TESTNET_ROUTES: readonly Route[] = [
  registry('getAgentRegistration', TESTNET_PATHS.registrationFile, 'ERC-8004 registration file'),
  registry('getRegistryIdentity', TESTNET_PATHS.registryIdentity, 'Entry of this agent on chain'),
  {
    ...registry('getReputation', TESTNET_PATHS.reputation, 'On-chain feedback of one reviewer'),
    request: { parameters: describeParameters(reputationQuerySchema, { example: REVIEWER }) },
  },
]

export function listRoutes(deployment: DocumentedDeployment): Route[] {
  const { terms, a2aEnabled } = deployment
  return [
    ...terms.operations.map((each) => paidRoute(each, deployment)),
    ...(a2aEnabled ? [a2aRoute(deployment)] : []),
    mcpRoute(deployment),
    ...FREE_ROUTES,
    ...(terms.mode === 'testnet' ? TESTNET_ROUTES : []),
  ]
}

/** Free documents have an ETag, and conditional requests get 304. */
export function isDocument({ headers }: Route): boolean {
  return headers.includes('ETag')
}

function free(
  operationId: string,
  path: string,
  summary: string,
  content: Route['content'],
  others: Partial<Route> = {},
): Route {
  const description = `${summary}.`
  const usual = { method: 'get', tag: 'Documents', description, headers: ['ETag'], refusals: ANY_ROUTE } as const
  return { ...usual, operationId, path, summary, content, ...others }
}

/** A registry route with its refusals (contract 4.4.8). */
function registry(operationId: string, path: string, summary: string): Route {
  return free(operationId, path, summary, DOCUMENT, {
    tag: 'Registry',
    description: `${summary}. Testnet only.`,
    refusals: ['invalid_query', 'duplicate_parameter', 'registry_unchecked', ...ANY_ROUTE],
    reserved: ['not_found'],
  })
}

/** A free document needs no example, because a client can request it. */
function json(schema: string, example?: object) {
  return { 'application/json': { schema: schemaRef(schema), ...(example && { example }) } }
}

function jsonBody(schema: string, example: object | undefined) {
  return { required: true, content: json(schema, example) }
}
