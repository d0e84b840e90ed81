/** Example responses for the documents: answers with synthetic companies, quotes, A2A messages, and every refusal. */
import { RESOLVE_EXAMPLE, SEARCH_EXAMPLES, type ExampleInputs } from '../../agent/operation/examples.ts'
import { MCP_ERRORS, type McpError } from '../../agent/operation/mcp-errors.ts'
import { isDataError, refusalBody, type RefusalCode } from '../../agent/operation/refusal.ts'
import { A2A_PATH } from '../../agent/operation/paths.ts'
import { resourceUrl } from '../../agent/operation/resource.ts'
import type { Candidate, CompanyResponse, ResolveResponse, SearchResponse } from '../../agent/operation/result.ts'
import { OPERATION_NAMES, type Operation, type OperationName } from '../../agent/operation/schema.ts'
import { buildQuote, type QuoteReason } from '../../agent/payments/quote.ts'
import { MATCHING_VERSION, SCORE_DEFINITION } from '../../agent/matching/version.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_SNAPSHOT_ID, SYNTHETIC_SOURCE } from '../../store/synthetic.ts'
import type { DocumentedDeployment } from './deployment.ts'
import { buildMetadata } from './metadata.ts'

const PROVENANCE = { source: SYNTHETIC_SOURCE, snapshot_id: SYNTHETIC_SNAPSHOT_ID }

const CANDIDATE: Candidate = {
  company: {
    ...SYNTHETIC_COMPANY,
    company_number: '999999',
    legal_name: 'EXAMPLE TRADING LIMITED',
    registered_address: { lines: ['1 SAMPLE STREET', 'DUBLIN 2'], eircode: 'D02 X285' },
  },
  score: 1000,
  match_type: 'relaxed_name',
  signals: {
    name_similarity: 1,
    strict_name_exact: false,
    relaxed_name_exact: true,
    eircode_exact: true,
    address_contains: null,
    company_number_exact: false,
  },
  conflicts: [],
}

/** The synthetic company on testnet. On mainnet, which does not have it, another made-up company. */
function lookupAnswer({ terms }: DocumentedDeployment): CompanyResponse {
  return { company: terms.mode === 'testnet' ? SYNTHETIC_COMPANY : CANDIDATE.company, ...PROVENANCE }
}

const MATCHING = {
  candidate_limit_reached: false,
  matching_version: MATCHING_VERSION,
  score_definition: SCORE_DEFINITION,
  ...PROVENANCE,
}

const SEARCH_ANSWER: SearchResponse = {
  query: SEARCH_EXAMPLES[0],
  candidates: [{ ...CANDIDATE, score: 960, signals: { ...CANDIDATE.signals, eircode_exact: null } }],
  ...MATCHING,
}

const RESOLVE_ANSWER: ResolveResponse = {
  status: 'matched',
  match: CANDIDATE,
  query: { ...RESOLVE_EXAMPLE, eircode: 'D02X285' },
  candidates: [CANDIDATE],
  ...MATCHING,
}

type ExampleAnswer = CompanyResponse | SearchResponse | ResolveResponse

/** The answers of each operation by name. The first one answers the first example input. */
export function exampleAnswers(deployment: DocumentedDeployment) {
  return {
    lookup: { found: lookupAnswer(deployment) },
    search: { found: SEARCH_ANSWER, nothing: { ...SEARCH_ANSWER, candidates: [] } },
    resolve: {
      found: RESOLVE_ANSWER,
      nothing: { ...RESOLVE_ANSWER, status: 'no_match', match: null, candidates: [] },
    },
  } as const satisfies Record<OperationName, Record<string, ExampleAnswer>>
}

/** The operation of the first example: a lookup, or a search if no company number is known. */
export function firstOperation({ lookup, search }: ExampleInputs): Operation {
  const [input] = lookup
  return input ? { operation: 'lookup', input } : { operation: 'search', input: search[0] }
}

/** The quote for the first example. */
export function exampleQuote({ baseUrl, terms, examples }: DocumentedDeployment, reason: QuoteReason) {
  const first = firstOperation(examples)
  const quote = buildQuote({ terms, operation: first.operation, url: resourceUrl(baseUrl, first), reason })
  return JSON.parse(quote.json) as Record<string, unknown>
}

/** The reason in the quote of each refusal with status 402. */
const REASONS: Partial<Record<RefusalCode, QuoteReason>> = {
  payment_required: 'PAYMENT-SIGNATURE header is required',
  payment_invalid: 'invalid_payload',
  payment_rejected: 'insufficient_funds',
  payment_failed: 'settlement_refused',
}

/** The body of a refusal. */
export function exampleRefusal(deployment: DocumentedDeployment, code: RefusalCode): object {
  const body = refusalBody({ code, ...(isDataError(code) && { provenance: PROVENANCE }) })
  const reason = REASONS[code]
  return reason === undefined ? body : { ...body, payment_required: exampleQuote(deployment, reason) }
}

/** A2A requests: the first example input of each operation, and a question in words. */
export function exampleRpcRequests({ examples }: DocumentedDeployment): Record<string, object> {
  const calls = OPERATION_NAMES.flatMap((operation): [string, object][] => {
    const [input] = examples[operation]
    return input ? [[operation, rpcRequest({ data: { operation, input } })]] : []
  })
  return { ...Object.fromEntries(calls), help: rpcRequest({ text: 'How do I use this agent?' }) }
}

/** A2A answers to the first example and to an unknown method. */
export function exampleRpcAnswers(deployment: DocumentedDeployment) {
  const { operation } = firstOperation(deployment.examples)
  const data = exampleAnswers(deployment)[operation].found
  const message = {
    messageId: '8f14e45f-ceea-467f-a8f1-0c2f5f7f2b1c',
    role: 'ROLE_AGENT',
    parts: [{ data, mediaType: 'application/json' }],
  }
  return {
    [operation]: { jsonrpc: '2.0', id: 1, result: { message } },
    protocol_error: { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'There is no such method.' } },
  }
}

function rpcRequest(part: object) {
  const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [part] }
  return { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
}

/** MCP requests: the list of tools, and a call of the first example. */
export function exampleMcpRequests({ examples }: DocumentedDeployment): Record<string, object> {
  const { operation, input } = firstOperation(examples)
  const name = operation === 'lookup' ? 'lookup_company' : 'search_companies'
  return {
    list: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    call: { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name, arguments: input } },
  }
}

export function exampleMcpError({ code, message }: McpError): object {
  return { jsonrpc: '2.0', id: 1, error: { code, message } }
}

export const MCP_ANSWERS = Object.fromEntries(
  MCP_ERRORS.filter(({ statuses }) => statuses.includes(200)).map((error) => [error.code, exampleMcpError(error)]),
)

export function exampleMetadata(deployment: DocumentedDeployment): object {
  const info = {
    snapshot_id: SYNTHETIC_SNAPSHOT_ID,
    row_count: 1,
    quarantined_company_count: 0,
    rejected_row_count: 0,
    imported_at: '2026-01-01T00:00:00Z',
  }
  return buildMetadata(deployment, { info, source: SYNTHETIC_SOURCE, status: 'ready' })
}

/** The public key of RFC 7517, appendix A.1. */
export const KEY_SET = {
  keys: [
    {
      kty: 'EC',
      crv: 'P-256',
      x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
      y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
      kid: '1',
      alg: 'ES256',
      use: 'sig',
    },
  ],
  compromised: [],
}

export function exampleCard({ baseUrl, version }: DocumentedDeployment) {
  return {
    name: 'Irish company records',
    description: 'Irish company records, paid per request with x402.',
    version,
    supportedInterfaces: [{ url: `${baseUrl}${A2A_PATH}`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    skills: [{ id: 'lookup', name: 'Company lookup' }],
    signatures: [{ protected: 'eyJhbGciOiJFUzI1NiJ9', signature: 'MEUCIQ' }],
  }
}
