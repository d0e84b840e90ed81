/** HTTP clients with an address of their own, in 127.0.0.0/8. */
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { CONNECTION_LIMITS } from '../../../agent/transport/http/connections.ts'
import { rpcBody, toolCall } from '../../support/transports.ts'

/** Longer than a client waits. */
const ANSWER_MS_MAX = 10_000

export interface Sent {
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  body?: string
}

export const get = (path: string, headers: Record<string, string> = {}): Sent => ({ method: 'GET', path, headers })

export function post(path: string, body: string, headers: Record<string, string> = {}): Sent {
  const json = { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) }
  return { method: 'POST', path, headers: { ...json, ...headers }, body }
}

export interface Reply {
  /** 0 without an answer; the body then says why. */
  status: number
  body: string
}

export const LOOKUP = '/api/v1/company/00000000'

const OPERATION = { operation: 'lookup', input: { company_number: '00000000' } }

/** The same purchase over A2A, from the service at `url`. */
export const lookupOverA2a = (url: string, headers: Record<string, string> = {}): Sent =>
  post('/a2a', rpcBody(OPERATION), {
    'A2A-Version': '1.0',
    'A2A-Extensions': `${url}/docs#http-x402-v1`,
    ...headers,
  })

const MCP_HEADERS = { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' }

export const overMcp = (message: object): Sent =>
  post('/mcp', JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }), MCP_HEADERS)

/** The same purchase over MCP, or another one. */
export function lookupOverMcp(payment?: unknown, operation: Parameters<typeof toolCall>[0] = OPERATION): Sent {
  const { body, headers } = toolCall(operation, payment)
  return post('/mcp', JSON.stringify(body), headers)
}

function textOf({ path, headers, body = '', method }: Sent): string {
  const lines = Object.entries({ Host: 'a', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** One connection from an address. */
export class AddressedClient {
  readonly #agent: Agent
  readonly #url: string
  readonly #address: string
  /** Of requests that are not sent by the agent. */
  #socket: Socket | undefined

  constructor(url: string, address: string) {
    this.#url = url
    this.#address = address
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1 })
  }

  /** @param leavesAfterMs disconnects after this time, with or without an answer */
  send({ path, headers, body, method }: Sent, leavesAfterMs = ANSWER_MS_MAX): Promise<Reply> {
    const options = { agent: this.#agent, localAddress: this.#address, method, headers }
    return new Promise((resolve) => {
      const lost = ({ message }: Error) => resolve({ status: 0, body: message })
      const sent = request(this.#url + path, options, (response) => {
        text(response).then((whole) => resolve({ status: response.statusCode ?? 0, body: whole }), lost)
      })
      sent.on('error', lost)
      const timer = setTimeout(() => sent.destroy(new Error('There is no answer')), leavesAfterMs)
      sent.on('close', () => clearTimeout(timer))
      sent.end(body)
    })
  }

  /** Sends a request on a connection of its own, and reads nothing of the answer. Connects again after a reset. */
  neglect(sent: Sent): void {
    if (this.#isConnected()) return
    this.#connect().pause().write(textOf(sent))
  }

  /** Sends a request without the end of its body. Connects again after a reset. */
  sendSlowly(sent: Sent): void {
    if (this.#isConnected()) return
    this.#connect().resume().write(textOf(sent).slice(0, -1))
  }

  /** Sends as many requests as a connection may have, and as many again when they are answered. */
  pipeline(sent: Sent): void {
    if (this.#isConnected()) return
    const requests = textOf(sent).repeat(CONNECTION_LIMITS.unanswered)
    let answers = 0
    const socket = this.#connect()
    socket.on('data', (bytes: Buffer) => {
      answers += bytes.toString('latin1').split('HTTP/1.1 ').length - 1
      if (answers % CONNECTION_LIMITS.unanswered === 0) socket.write(requests)
    })
    socket.write(requests)
  }

  close(): void {
    this.#agent.destroy()
    this.#socket?.destroy()
  }

  #isConnected(): boolean {
    return this.#socket?.destroyed === false
  }

  #connect(): Socket {
    const { hostname: host, port } = new URL(this.#url)
    this.#socket = connect({ host, port: Number(port), localAddress: this.#address }).on('error', () => undefined)
    return this.#socket
  }
}
