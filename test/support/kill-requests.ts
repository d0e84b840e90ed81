/** The requests of the kill programme: one for each transport and operation, and the record in its response. */
import { request as httpRequest } from 'node:http'
import { RESOLVE, rpcBody } from './transports.ts'

export const KILL_TRANSPORTS = ['REST GET', 'REST POST', 'A2A lookup', 'A2A resolve'] as const

export type KillTransport = (typeof KILL_TRANSPORTS)[number]

const LOOKUP_INPUT = { company_number: '00000000' }
/** A company of the tests' register. */
const RESOLVE_INPUT = { name: 'plain fixture' }

interface KillRequest {
  operation: string
  method: string
  path: string
  /** JSON, where the request has a body. */
  body?: string
}

const REQUESTS: Record<KillTransport, KillRequest> = {
  'REST GET': { operation: 'lookup', method: 'GET', path: '/api/v1/company/00000000' },
  'REST POST': { operation: 'resolve', method: 'POST', path: RESOLVE, body: JSON.stringify(RESOLVE_INPUT) },
  'A2A lookup': toA2aRequest('lookup', LOOKUP_INPUT),
  'A2A resolve': toA2aRequest('resolve', RESOLVE_INPUT),
}

function toA2aRequest(operation: string, input: object): KillRequest {
  return { operation, method: 'POST', path: '/a2a', body: rpcBody({ operation, input }) }
}

export function operationOf(transport: KillTransport): string {
  return REQUESTS[transport].operation
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

/** The record in a response body, without the wrapping of the transport. */
export function readRecord(transport: KillTransport, body: string): unknown {
  const answer = JSON.parse(body) as { result?: { message: { parts: [{ data: unknown }] } } }
  return transport.startsWith('A2A') ? answer.result?.message.parts[0].data : answer
}
