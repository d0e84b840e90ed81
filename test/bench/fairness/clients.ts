/** HTTP clients with an address of their own, in 127.0.0.0/8. */
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { rpcBody, toolCall } from '../../support/transports.ts'

/** Longer than a client waits. */
const ANSWER_MS_MAX = 10_000

export interface Sent {
  path: string
  headers?: Record<string, string>
  body?: string
}

export interface Reply {
  /** 0 if the connection was reset. */
  status: number
  body: string
}

export const LOOKUP = '/api/v1/company/00000000'

const OPERATION = { operation: 'lookup', input: { company_number: '00000000' } }

/** The same purchase over A2A, from the service at `url`. */
export const lookupOverA2a = (url: string, headers: Record<string, string> = {}): Sent => ({
  path: '/a2a',
  headers: { 'A2A-Version': '1.0', 'A2A-Extensions': `${url}/docs#http-x402-v1`, ...headers },
  body: rpcBody(OPERATION),
})

const MCP_HEADERS = { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' }

export const overMcp = (message: object): Sent => ({
  path: '/mcp',
  headers: MCP_HEADERS,
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
})

/** The same purchase over MCP. */
export function lookupOverMcp(payment?: unknown): Sent {
  const { body, headers } = toolCall(OPERATION, payment)
  return { path: '/mcp', headers, body: JSON.stringify(body) }
}

/** One connection from an address. */
export class AddressedClient {
  readonly #agent: Agent
  readonly #url: string
  readonly #address: string

  constructor(url: string, address: string) {
    this.#url = url
    this.#address = address
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1 })
  }

  send({ path, headers = {}, body }: Sent): Promise<Reply> {
    const length = String(Buffer.byteLength(body ?? ''))
    const json = body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': length }
    const method = body === undefined ? 'GET' : 'POST'
    const options = { agent: this.#agent, localAddress: this.#address, method, headers: { ...json, ...headers } }
    return new Promise((resolve) => {
      const lost = () => resolve({ status: 0, body: '' })
      const sent = request(this.#url + path, options, (response) => {
        text(response).then((whole) => resolve({ status: response.statusCode ?? 0, body: whole }), lost)
      })
      sent.on('error', lost)
      sent.setTimeout(ANSWER_MS_MAX, () => sent.destroy(new Error('There is no answer')))
      sent.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
