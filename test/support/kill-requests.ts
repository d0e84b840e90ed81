/** The requests of the kill program: one for each transport and operation, and the record in its response. */
import { request as httpRequest } from 'node:http'
import { answersOperation } from '../../agent/buyer/library/purchase-request.ts'
import { amountOf, buildRequirements, type Terms } from '../../agent/payment/terms.ts'
import { BATCH, RESOLVE, rpcBody } from './transports.ts'
import { operationOf } from './operations.ts'

export const KILL_TRANSPORTS = [
  'REST GET',
  'REST POST',
  'REST batch',
  'A2A lookup',
  'A2A resolve',
  'A2A batch',
] as const

export type KillTransport = (typeof KILL_TRANSPORTS)[number]

const LOOKUP_INPUT = { company_number: '00000000' }
/** A company of the tests' register. */
const RESOLVE_INPUT = { name: 'plain fixture' }
/** Two companies and a missing one. */
const BATCH_INPUT = {
  operation: 'lookup',
  inputs: ['73848', '999', '00000000'].map((company_number) => ({ company_number })),
}

interface KillRequest {
  operation: string
  input: Record<string, unknown>
  method: string
  path: string
  /** JSON, where the request has a body. */
  body?: string
}

const REQUESTS: Record<KillTransport, KillRequest> = {
  'REST GET': { operation: 'lookup', input: LOOKUP_INPUT, method: 'GET', path: '/api/v1/company/00000000' },
  'REST POST': toPost('resolve', RESOLVE_INPUT, RESOLVE),
  'REST batch': toPost('batch', BATCH_INPUT, BATCH),
  'A2A lookup': toA2aRequest('lookup', LOOKUP_INPUT),
  'A2A resolve': toA2aRequest('resolve', RESOLVE_INPUT),
  'A2A batch': toA2aRequest('batch', BATCH_INPUT),
}

function toPost(operation: string, input: Record<string, unknown>, path: string): KillRequest {
  return { operation, input, method: 'POST', path, body: JSON.stringify(input) }
}

function toA2aRequest(operation: string, input: Record<string, unknown>): KillRequest {
  return { operation, input, method: 'POST', path: '/a2a', body: rpcBody({ operation, input }) }
}

/** What the payment of a request must be for. */
export function requirementsOf(transport: KillTransport, terms: Terms) {
  return buildRequirements(terms, amountOf(terms, operationOf(REQUESTS[transport])))
}

export interface KillResponse {
  /** 0 if no response head arrived. */
  status: number
  receipt: string | undefined
  /** The part that arrived. */
  body: string
  isWhole: boolean
}

/** Never rejects. A broken connection leaves what had arrived. */
export function ask(url: string, transport: KillTransport, payment: string): Promise<KillResponse> {
  const { method, path, body } = REQUESTS[transport]
  const { hostname, port } = new URL(url)
  const json =
    body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  const a2a = { 'A2A-Version': '1.0', 'A2A-Extensions': `${url}/docs#http-x402-v1` }
  const headers = { 'PAYMENT-SIGNATURE': payment, ...json, ...(path === '/a2a' && a2a) }
  return new Promise((resolve) => {
    const got: KillResponse = { status: 0, receipt: undefined, body: '', isWhole: false }
    const sent = httpRequest({ hostname, port, method, path, headers, agent: false }, (response) => {
      got.status = response.statusCode ?? 0
      const receipt = response.headers['payment-response']
      got.receipt = receipt === undefined ? undefined : String(receipt)
      response.setEncoding('utf8').on('data', (text: string) => void (got.body += text))
      response.on('error', () => undefined)
      response.on('close', () => resolve({ ...got, isWhole: response.complete }))
    })
    sent.on('error', () => resolve(got))
    sent.end(body)
  })
}

/** Whether a response body has the answer to the request. */
export function isAnswer(transport: KillTransport, body: string): boolean {
  return answersOperation(operationOf(REQUESTS[transport]), readRecord(transport, body))
}

/** The record in a response body, without the wrapping of the transport. */
export function readRecord(transport: KillTransport, body: string): unknown {
  const answer = JSON.parse(body) as { result?: { message: { parts: [{ data: unknown }] } } }
  return transport.startsWith('A2A') ? answer.result?.message.parts[0].data : answer
}
