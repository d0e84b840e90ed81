/** The ways in which the kill programme buys: a request for each door and operation, and the data in what it answers. */
import { request as httpRequest } from 'node:http'
import type { OperationName } from '../../agent/operation/schema.ts'
import { RESOLVE, rpcBody } from './doors.ts'

export const KILL_DOORS = ['REST GET', 'REST POST', 'A2A lookup', 'A2A resolve'] as const

export type KillDoor = (typeof KILL_DOORS)[number]

const LOOKUP_INPUT = { company_number: '00000000' }
/** In the tests' register. */
const RESOLVE_INPUT = { name: 'plain fixture' }

interface Order {
  operation: OperationName
  method: string
  path: string
  /** JSON, where the request has a body. */
  body?: string
}

const ORDERS: Record<KillDoor, Order> = {
  'REST GET': { operation: 'lookup', method: 'GET', path: '/api/v1/company/00000000' },
  'REST POST': { operation: 'resolve', method: 'POST', path: RESOLVE, body: JSON.stringify(RESOLVE_INPUT) },
  'A2A lookup': a2aOrder('lookup', LOOKUP_INPUT),
  'A2A resolve': a2aOrder('resolve', RESOLVE_INPUT),
}

function a2aOrder(operation: OperationName, input: object): Order {
  return { operation, method: 'POST', path: '/a2a', body: rpcBody({ operation, input }) }
}

export function operationAt(door: KillDoor): OperationName {
  return ORDERS[door].operation
}

export interface Got {
  /** 0 when not even a head came. */
  status: number
  receipt: string | undefined
  /** As much as came. */
  body: string
  isWhole: boolean
}

/** Never rejects: a connection that was cut leaves what had come by then. */
export function ask(url: string, door: KillDoor, payment: string): Promise<Got> {
  const { method, path, body } = ORDERS[door]
  const { hostname, port } = new URL(url)
  const json =
    body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  const a2a = { 'A2A-Version': '1.0', 'A2A-Extensions': `${url}/docs#http-x402-v1` }
  const headers = { 'PAYMENT-SIGNATURE': payment, ...json, ...(path === '/a2a' && a2a) }
  return new Promise((resolve) => {
    const got: Got = { status: 0, receipt: undefined, body: '', isWhole: false }
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

/** The record that was bought, as the door wraps it. */
export function dataIn(door: KillDoor, body: string): unknown {
  const answer = JSON.parse(body) as { result?: { message: { parts: [{ data: unknown }] } } }
  return door.startsWith('A2A') ? answer.result?.message.parts[0].data : answer
}
