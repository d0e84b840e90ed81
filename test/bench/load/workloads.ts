/** The kinds of requests that `perf` and `sizing` send over HTTP. */
import { CALLS_MAX } from '../../../agent/transport/call-limits.ts'
import { MCP_PATH } from '../../../agent/operation/endpoints.ts'
import { BATCH, toolCall } from '../../support/transports.ts'
import { signPayment } from './sign.ts'
import type { LoadRequest } from './client.ts'
import { priceOf } from '../../support/operations.ts'

export interface Corpus {
  companyNumbers: readonly string[]
  /** Names as they are searched for: exact, with a letter missing, or the first word alone. */
  searchTexts: readonly string[]
  names: readonly string[]
  /** The payment of all replays. The first request buys, the others get the stored response. */
  replayed: string
}

export type WorkloadName =
  'quote' | 'replay' | 'paid lookup' | 'paid lookup over MCP' | 'batch of 100 lookups' | 'search' | 'resolve'

export interface Workload {
  /** Requests of one round on one connection. */
  requests: number
  /** Whether the server calls its facilitator and its chain node. */
  usesRemotes?: true
  /** More connections would get refusals. */
  connectionsMax?: number
  build(corpus: Corpus, count: number): LoadRequest[]
}

const JSON_HEADERS = { 'Content-Type': 'application/json' }

export const WORKLOADS: Record<WorkloadName, Workload> = {
  quote: {
    requests: 1_500,
    build: ({ companyNumbers }, count) =>
      cycle(companyNumbers, count, (number) => ({ path: lookupPath(number), status: 402 })),
  },
  replay: {
    requests: 1_500,
    build: ({ companyNumbers: [number = ''], replayed }, count) =>
      cycle([number], count, () => ({ path: lookupPath(number), status: 200, headers: paid(replayed) })),
  },
  'paid lookup': {
    requests: 300,
    usesRemotes: true,
    build: ({ companyNumbers }, count) =>
      cycle(companyNumbers, count, (number) => ({
        path: lookupPath(number),
        status: 200,
        headers: paid(signPayment()),
      })),
  },
  'paid lookup over MCP': {
    requests: 300,
    usesRemotes: true,
    connectionsMax: CALLS_MAX,
    build: ({ companyNumbers }, count) => cycle(companyNumbers, count, lookupOverMcp),
  },
  'batch of 100 lookups': {
    requests: 40,
    usesRemotes: true,
    build: ({ companyNumbers }, count) => {
      const inputs = cycle(companyNumbers, 100, (company_number) => ({ company_number }))
      return Array.from({ length: count }, () => batchRequest({ operation: 'lookup', inputs }))
    },
  },
  search: {
    requests: 120,
    usesRemotes: true,
    build: ({ searchTexts }, count) =>
      cycle(searchTexts, count, (text) => ({
        path: `/api/v1/search?q=${encodeURIComponent(text)}&limit=5`,
        status: 200,
        headers: paid(signPayment(priceOf('search'))),
      })),
  },
  resolve: {
    requests: 120,
    usesRemotes: true,
    build: ({ names }, count) =>
      cycle(names, count, (name) => ({
        method: 'POST',
        path: '/api/v1/resolve',
        body: JSON.stringify({ name }),
        status: 200,
        headers: { ...JSON_HEADERS, ...paid(signPayment(priceOf('resolve'))) },
      })),
  },
}

function lookupPath(companyNumber: string): string {
  return `/api/v1/company/${companyNumber}`
}

export function batchRequest(
  input: { operation: string; inputs: readonly object[] },
  transport: 'REST' | 'MCP' = 'REST',
): LoadRequest {
  const payment = signPayment(priceOf(input.operation) * input.inputs.length)
  const request = { method: 'POST', status: 200, contains: '"results":[' } as const
  if (transport === 'REST')
    return { ...request, path: BATCH, body: JSON.stringify(input), headers: { ...JSON_HEADERS, ...paid(payment) } }
  const { body, headers } = toolCall({ operation: 'batch', input }, payment)
  return { ...request, path: MCP_PATH, body: JSON.stringify(body), headers: { ...JSON_HEADERS, ...headers } }
}

/** A refusal over MCP has status 200 too, so the answer must have a record. */
function lookupOverMcp(company_number: string): LoadRequest {
  const payment: unknown = JSON.parse(Buffer.from(signPayment(), 'base64').toString())
  const { body, headers } = toolCall({ operation: 'lookup', input: { company_number } }, payment)
  return {
    method: 'POST',
    path: MCP_PATH,
    body: JSON.stringify(body),
    headers: { ...JSON_HEADERS, ...headers },
    status: 200,
    contains: '"structuredContent":{"company":{',
  }
}

function paid(signature: string): Record<string, string> {
  return { 'PAYMENT-SIGNATURE': signature }
}

function cycle<Value, Made>(values: readonly Value[], count: number, make: (value: Value) => Made): Made[] {
  return Array.from({ length: count }, (_, index) => make(values[index % values.length] as Value))
}
