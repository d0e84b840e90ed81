/** Whole answers as the documents show them: the synthetic company as it is sold, made-up candidates, every refusal. */
import { EXAMPLE_INPUTS } from '../../agent/operation/examples.ts'
import { REFUSALS, refusalBody, type RefusalCode } from '../../agent/operation/refusal.ts'
import { endpoint, resourceUrl, ROUTES } from '../../agent/operation/resource.ts'
import type { Candidate, CompanyResponse, ResolveResponse, SearchResponse } from '../../agent/operation/result.ts'
import { parseOperation, type Operation, type OperationName } from '../../agent/operation/schema.ts'
import { quoteFor, type Reason } from '../../agent/payments/quote.ts'
import { MATCHING_VERSION, SCORE_DEFINITION } from '../../agent/matching/version.ts'
import { SYNTHETIC_COMPANY, SYNTHETIC_SNAPSHOT_ID, SYNTHETIC_SOURCE } from '../../store/synthetic.ts'
import { accessOf, type Deployment } from './deployment.ts'
import { registryExamples } from './registry-examples.ts'

const PROVENANCE = { source: SYNTHETIC_SOURCE, snapshot_id: SYNTHETIC_SNAPSHOT_ID }

export const LOOKUP_ANSWER: CompanyResponse = { company: SYNTHETIC_COMPANY, ...PROVENANCE }

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

const MATCHING = {
  candidate_limit_reached: false,
  matching_version: MATCHING_VERSION,
  score_definition: SCORE_DEFINITION,
  ...PROVENANCE,
}

export const SEARCH_ANSWER: SearchResponse = {
  query: EXAMPLE_INPUTS.search[0],
  candidates: [
    { ...CANDIDATE, score: 960, signals: { ...CANDIDATE.signals, eircode_exact: null, strict_name_exact: false } },
  ],
  ...MATCHING,
}

export const SEARCH_WITHOUT_MATCH: SearchResponse = { ...SEARCH_ANSWER, candidates: [] }

export const RESOLVE_ANSWER: ResolveResponse = {
  status: 'matched',
  match: CANDIDATE,
  query: { name: 'Example Trading Ltd', eircode: 'D02X285' },
  candidates: [CANDIDATE],
  ...MATCHING,
}

export const RESOLVE_WITHOUT_MATCH: ResolveResponse = {
  ...RESOLVE_ANSWER,
  status: 'no_match',
  match: null,
  candidates: [],
}

export const ANSWERS = { lookup: LOOKUP_ANSWER, search: SEARCH_ANSWER, resolve: RESOLVE_ANSWER } as const

/** The first example of an operation, as the code reads it. */
export function exampleOperation(name: OperationName): Operation {
  const parsed = parseOperation(name, EXAMPLE_INPUTS[name][0])
  if (!parsed.valid) throw new Error(`The example of ${name} is not valid`)
  return parsed.operation
}

/** The quote for the first example of an operation. */
export function exampleQuote({ baseUrl, terms }: Deployment, operation: OperationName, reason: Reason) {
  const url = resourceUrl(baseUrl, exampleOperation(operation))
  return JSON.parse(quoteFor({ terms, operation, url, reason }).json) as Record<string, unknown>
}

/** What a quote says that follows a payment, by the refusal it comes with. */
const REASONS: Partial<Record<RefusalCode, Reason>> = {
  payment_required: 'PAYMENT-SIGNATURE header is required',
  payment_invalid: 'invalid_payload',
  payment_rejected: 'insufficient_funds',
  payment_failed: 'settlement_refused',
}

const WITH_PROVENANCE: ReadonlySet<RefusalCode> = new Set(['company_not_found', 'source_data_conflict'])

export function hasProvenance(code: RefusalCode): boolean {
  return WITH_PROVENANCE.has(code)
}

/** The whole body of a refusal. */
export function exampleRefusal(deployment: Deployment, code: RefusalCode): object {
  const body = refusalBody({ code, ...(hasProvenance(code) && { provenance: PROVENANCE }) })
  const reason = REASONS[code]
  return REFUSALS[code].status === 402 && reason !== undefined
    ? { ...body, payment_required: exampleQuote(deployment, 'lookup', reason) }
    : body
}

/** An A2A request for the first example of an operation. */
export function exampleRpcRequest(operation: OperationName) {
  return rpcRequest({ data: { operation, input: EXAMPLE_INPUTS[operation][0] } })
}

export const RPC_TEXT_REQUEST = rpcRequest({ text: 'How do I use this agent?' })

export const RPC_LOOKUP_ANSWER = {
  jsonrpc: '2.0',
  id: 1,
  result: {
    message: {
      messageId: '8f14e45f-ceea-467f-a8f1-0c2f5f7f2b1c',
      role: 'ROLE_AGENT',
      parts: [{ data: LOOKUP_ANSWER, mediaType: 'application/json' }],
    },
  },
}

function rpcRequest(part: object) {
  const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [part] }
  return { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }
}

/** How a lookup is asked for, as a path. */
export const LOOKUP_EXAMPLE_PATH = `${ROUTES.lookup.path}/${EXAMPLE_INPUTS.lookup[0].company_number}`

/** A free document of a deployment, by its path; those of the registries in more states than one. */
export function documentExamples(deployment: Deployment, path: string): Record<string, unknown> {
  const registered = registryExamples(deployment).get(path)
  return registered ?? { document: documentExample(deployment, path) }
}

function documentExample(deployment: Deployment, path: string): object {
  const { baseUrl, version, onSale } = deployment
  const { publisher, dataset_url, license, license_url, notice } = SYNTHETIC_SOURCE
  const documents = new Map<string, object>([
    [
      '/api/v1/meta',
      {
        service: 'irish-company-agent',
        version,
        endpoints: onSale.map(endpoint),
        dataset_status: 'ready',
        ...PROVENANCE,
        row_count: 1,
        quarantined_company_count: 0,
        rejected_row_count: 0,
        imported_at: '2026-01-01T00:00:00Z',
        access: accessOf(deployment),
      },
    ],
    ['/attribution', { publisher, dataset_url, license, license_url, notice }],
    [
      '/openapi.json',
      { openapi: '3.1.0', info: { title: 'Irish Company Lookup, Search and Resolution Service', version }, paths: {} },
    ],
    ['/.well-known/jwks.json', { keys: [EXAMPLE_KEY] }],
    ['/.well-known/agent-card.json', exampleCard(baseUrl, version)],
  ])
  const document = documents.get(path)
  if (!document) throw new Error('A document has no example')
  return document
}

/** The public key of RFC 7517, appendix A.1. */
const EXAMPLE_KEY = {
  kty: 'EC',
  crv: 'P-256',
  x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
  y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
  kid: '1',
  alg: 'ES256',
  use: 'sig',
}

function exampleCard(baseUrl: string, version: string) {
  return {
    name: 'Irish company records',
    description: 'Irish company records, paid per request with x402.',
    version,
    supportedInterfaces: [{ url: `${baseUrl}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    skills: [{ id: 'lookup', name: 'Company lookup' }],
    signatures: [{ protected: 'eyJhbGciOiJFUzI1NiJ9', signature: 'MEUCIQ' }],
  }
}
