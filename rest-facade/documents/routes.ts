/** The table of all routes (contract 4): input, success response, and every possible refusal. */
import type * as z from 'zod'
import { MCP_ERRORS, type McpError } from '../../agent/transport/mcp/protocol-error.ts'
import { A2A_PATH, FREE_PATHS, MCP_PATH, TESTNET_PATHS } from '../../agent/operation/endpoints.ts'
import {
  inputFaults,
  queryMembers,
  type OperationDefinition,
  type Operations,
} from '../../agent/operation/operation.ts'
import { WIRE_CODES, type RefusalCode } from '../../agent/operation/refusal.ts'
import type { DocumentedDeployment } from './deployment.ts'
import { exampleMcpRequests, exampleRpcAnswers, exampleRpcRequests, MCP_ANSWERS } from './examples.ts'
import { reputationQuerySchema, type REGISTRY_SCHEMAS } from '../registry/bodies.ts'
import { inputName } from './component-schemas.ts'

/** By name. The first one gives the examples of parameters. */
type Examples = (deployment: DocumentedDeployment) => Record<string, object>

/** A body, or a schema of which each member is a parameter of path or query. */
type RouteInput =
  { kind: 'body'; schema: string; examples: Examples } | { kind: 'parameters'; schema: z.ZodType; examples: Examples }

type ResponseContent =
  | { kind: 'text'; type: string }
  /** A free document needs no example, because a client can request it. */
  | { kind: 'json'; schema: string; examples?: Examples }

interface RouteDescription {
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
  /** The operation that the route sells. Absent for A2A and MCP, which sell all of them. */
  sells?: OperationDefinition
  /** Absent if A2A is disabled, or on mainnet. */
  only?: 'a2a' | 'testnet'
}

export const ANY_ROUTE = ['method_not_allowed', 'internal_error', 'overloaded', ...WIRE_CODES] as const

/** Refusals of every paid request, over REST, A2A and MCP. */
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

const BODY = ['body_too_large', 'unsupported_media_type'] as const

function paidRoute(definition: OperationDefinition): RouteDescription {
  const { name, method, answerName, inputSchema, reserved = [], skill, tool } = definition
  const hasQuery = queryMembers(definition).length > 0
  const examples = ({ exampleCompany }: DocumentedDeployment) =>
    Object.fromEntries(definition.examples(exampleCompany).map((value, at) => [`example_${at + 1}`, value]))
  return {
    operationId: tool.name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    summary: skill.name,
    description: `${skill.description} ${describeRequest(definition)} ${tool.size}`,
    method: method === 'GET' ? 'get' : 'post',
    path: definition.path,
    tag: 'Paid',
    sells: definition,
    input:
      method === 'POST'
        ? { kind: 'body', schema: inputName(name), examples }
        : { kind: 'parameters', schema: inputSchema, examples },
    contents: [json(answerName, ({ terms }) => ({ answer: definition.exampleAnswer(terms.mode) }))],
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

function describeRequest(definition: OperationDefinition): string {
  const { method, bodyBytesMax = 0 } = definition
  if (method === 'POST')
    return `The body is JSON of at most ${bodyBytesMax / 1024} KiB. A retry must repeat URI, Content-Type and the exact body.`
  return queryMembers(definition).length > 0
    ? 'Each parameter occurs at most once. A retry must repeat the whole query string.'
    : 'No query string and no body are accepted.'
}

const a2aRoute = (operations: Operations): RouteDescription => ({
  operationId: 'sendMessage',
  method: 'post',
  path: A2A_PATH,
  tag: 'Agent',
  summary: 'The operations over A2A 1.0',
  description:
    'JSON-RPC, synchronous, direct Messages only, at most 16 KiB. A text part gets usage instructions, free. A data ' +
    'part `{operation, input}` is paid like the REST resource that its quote names, at the same price. Payment and ' +
    'service errors have the REST status and body. Protocol errors are JSON-RPC errors with status 200.',
  input: { kind: 'body', schema: 'RpcRequest', examples: exampleRpcRequests },
  contents: [json('RpcResponse', exampleRpcAnswers)],
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
  only: 'a2a',
})

const MCP_ROUTE: RouteDescription = {
  operationId: 'callTool',
  method: 'post',
  path: MCP_PATH,
  tag: 'Agent',
  summary: 'The operations as tools of MCP',
  description:
    'Streamable HTTP without sessions, at most 16 KiB. Quotes, answers and errors of a tool are results of `tools/call` ' +
    'with status 200. The payment is in `_meta["x402/payment"]`.',
  input: { kind: 'body', schema: 'RpcRequest', examples: exampleMcpRequests },
  contents: [json('RpcResponse', () => MCP_ANSWERS), text('text/event-stream')],
  refusals: ['invalid_body', 'origin_not_allowed', 'rate_limited', ...BODY, ...ANY_ROUTE],
  protocolErrors: MCP_ERRORS,
}

const FREE_ROUTES: readonly RouteDescription[] = [
  freeRoute(
    'getMetadata',
    FREE_PATHS.metadata,
    'Operations, prices, receiver of payments, and state of the dataset',
    [json('Metadata')],
    { tag: 'Metadata', refusals: ['dataset_unavailable', ...ANY_ROUTE] },
  ),
  freeRoute('getAttribution', FREE_PATHS.attribution, 'The attribution to show with the data', [json('Attribution')], {
    tag: 'Metadata',
  }),
  freeRoute('getIndex', FREE_PATHS.index, 'Links to the documents, or the page for `Accept: text/html`', [
    json('Index'),
    text('text/html'),
  ]),
  freeRoute('getPage', FREE_PATHS.page, 'The page that sells, or the markdown guide for `Accept: text/markdown`', [
    text('text/html'),
    text('text/markdown'),
  ]),
  ...(['api', 'a2a', 'mcp'] as const).map((name) =>
    freeRoute(`get_${name}_html`, `${FREE_PATHS.page}/${name}`, `\`${FREE_PATHS.page}/${name}.md\` as HTML`, [
      text('text/html'),
    ]),
  ),
  freeRoute('getApiGuide', FREE_PATHS.apiGuide, 'The markdown guide: every route, parameter, price and error', [
    text('text/markdown'),
  ]),
  freeRoute('getA2aGuide', FREE_PATHS.a2aGuide, 'The guide to buying over A2A 1.0', [text('text/plain')]),
  freeRoute('getMcpGuide', FREE_PATHS.mcpGuide, 'The guide to buying over MCP', [text('text/plain')]),
  freeRoute('getLlmsTxt', FREE_PATHS.llmsTxt, 'Short instructions for agents, and links', [text('text/plain')]),
  freeRoute('getOpenApi', FREE_PATHS.openApi, 'This description, in OpenAPI 3.1', [json('Document')]),
  freeRoute('getServerJson', FREE_PATHS.serverJson, 'The MCP server, for MCP registries', [json('Document')], {
    tag: 'Agent',
  }),
  freeRoute('getX402Manifest', FREE_PATHS.x402, 'The paid routes, for catalogues of x402 services', [json('Document')]),
  freeRoute('getRobotsTxt', FREE_PATHS.robotsTxt, 'Crawlers may read the documents, but not the paid routes', [
    text('text/plain'),
  ]),
  freeRoute(
    'getKeys',
    FREE_PATHS.jwks,
    'The ES256 keys that verify receipts and the signature of the agent card',
    [json('KeySet')],
    { tag: 'Agent' },
  ),
  freeRoute(
    'getAgentCard',
    FREE_PATHS.agentCard,
    'The signed A2A 1.0 agent card, or 404 if A2A is disabled',
    [json('Document')],
    { tag: 'Agent', refusals: ['not_found', ...ANY_ROUTE] },
  ),
]

/** The reviewer of the example is an account of the well-known test mnemonic. */
const REPUTATION_EXAMPLES = { first: { client: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC' } }

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
    input: { kind: 'parameters', schema: reputationQuerySchema, examples: () => REPUTATION_EXAMPLES },
  },
  freeRoute(
    'getTestClient',
    TESTNET_PATHS.testnetClient,
    'Test client in one Python file without dependencies: it buys the synthetic company. Testnet only',
    [text('text/x-python')],
    { reserved: ['not_found'], only: 'testnet' },
  ),
]

export function listRoutes({ terms, a2aEnabled }: Pick<DocumentedDeployment, 'terms' | 'a2aEnabled'>) {
  const { operations } = terms
  const routes = [...operations.map(paidRoute), a2aRoute(operations), MCP_ROUTE, ...FREE_ROUTES, ...TESTNET_ROUTES]
  const offered = { a2a: a2aEnabled, testnet: terms.mode === 'testnet' }
  return routes.filter(({ only }) => only === undefined || offered[only])
}

/** Paid routes have payment headers. */
export function isPaidRoute({ sells, only }: RouteDescription): boolean {
  return sells !== undefined || only === 'a2a'
}

/** Free documents have an ETag, and conditional requests get 304. */
export function isDocument(route: RouteDescription): boolean {
  return !isPaidRoute(route) && route.method === 'get'
}

function freeRoute(
  operationId: string,
  path: string,
  summary: string,
  contents: ResponseContent[],
  others: Partial<RouteDescription> = {},
): RouteDescription {
  const description = `${summary}.`
  const usual = { method: 'get', tag: 'Documents', description, refusals: ANY_ROUTE } as const
  return { ...usual, operationId, path, summary, contents, ...others }
}

/** A registry route with its refusals (contract 4.4.8). */
function registryRoute(
  operationId: string,
  path: string,
  summary: string,
  schema: keyof typeof REGISTRY_SCHEMAS,
): RouteDescription {
  return freeRoute(operationId, path, summary, [json(schema)], {
    tag: 'Registry',
    description: `${summary}. Testnet only. The status is \`not_registered\` if no identity is configured.`,
    refusals: ['invalid_query', 'duplicate_parameter', 'rate_limited', 'registry_unchecked', ...ANY_ROUTE],
    reserved: ['not_found'],
    only: 'testnet',
  })
}

function json(schema: string, examples?: Examples): ResponseContent {
  return { kind: 'json', schema, ...(examples && { examples }) }
}

function text(type: string): ResponseContent {
  return { kind: 'text', type }
}
