/** HTTP clients with an address of their own, in 127.0.0.0/8. */
import { Agent, request, type IncomingMessage } from 'node:http'

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

/** The same purchase over A2A, from the service at `url`. */
export const lookupOverA2a = (url: string, headers: Record<string, string> = {}): Sent => ({
  path: '/a2a',
  headers: { 'A2A-Version': '1.0', 'A2A-Extensions': `${url}/docs#http-x402-v1`, ...headers },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: {
      message: {
        messageId: 'm',
        role: 'ROLE_USER',
        parts: [{ data: { operation: 'lookup', input: { company_number: '00000000' } } }],
      },
    },
  }),
})

const MCP_HEADERS = { Accept: 'application/json, text/event-stream', 'MCP-Protocol-Version': '2025-11-25' }

export const overMcp = (message: object): Sent => ({
  path: '/mcp',
  headers: MCP_HEADERS,
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
})

/** The same purchase over MCP. */
export const lookupOverMcp = (meta?: object): Sent =>
  overMcp({
    method: 'tools/call',
    params: { name: 'lookup_company', arguments: { company_number: '00000000' }, ...(meta && { _meta: meta }) },
  })

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
    const json = body === undefined ? {} : { 'Content-Type': 'application/json', ...lengthOf(body) }
    const method = body === undefined ? 'GET' : 'POST'
    const options = { agent: this.#agent, localAddress: this.#address, method, headers: { ...json, ...headers } }
    return new Promise((resolve) => {
      const lost = () => resolve({ status: 0, body: '' })
      const sent = request(this.#url + path, options, (response) => void read(response).then(resolve, lost))
      sent.on('error', lost)
      sent.setTimeout(ANSWER_MS_MAX, () => sent.destroy(new Error('There is no answer')))
      sent.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

async function read(response: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }
}

function lengthOf(body: string) {
  return { 'Content-Length': String(Buffer.byteLength(body)) }
}
