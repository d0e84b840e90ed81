/** A JSON-RPC proxy in front of a real chain. It forwards every call until a test sets a fault. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { listen } from './listen.ts'

export interface RpcCall {
  id: number
  method: string
  params: unknown[]
}

export interface RpcAnswer {
  jsonrpc: string
  id: number | null
  result?: unknown
  error?: unknown
}

export interface Exchange {
  call: RpcCall
  /** Forwards the call and returns the chain's response. */
  answer: () => Promise<RpcAnswer>
  response: ServerResponse
}

/** Responds instead of the proxy. */
export type Fault = (exchange: Exchange) => Promise<void> | void

export type FaultProxy = Awaited<ReturnType<typeof startFaultProxy>>

export async function startFaultProxy(chainUrl: string) {
  let fault: Fault | undefined
  const methods: string[] = []
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    const call = JSON.parse(body) as RpcCall
    methods.push(call.method)
    const answer = async () => (await ask(chainUrl, body)) as RpcAnswer
    await (fault ?? passOn)({ call, answer, response })
  }
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  return {
    ...(await listen(server)),
    /** Of every received call. */
    methods,
    fail(next: Fault | undefined) {
      fault = next
    },
  }
}

async function ask(url: string, body: string): Promise<unknown> {
  const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return reply.json()
}

/** Replies to some calls itself, with a result or an error. */
export function replying(reply: (call: RpcCall) => object | undefined): Fault {
  return (exchange) => {
    const { call } = exchange
    const own = reply(call)
    return own ? sendJson(exchange.response, { jsonrpc: '2.0', id: call.id, ...own }) : passOn(exchange)
  }
}

export async function passOn({ answer, response }: Exchange): Promise<void> {
  sendJson(response, await answer())
}

export function sendJson(response: ServerResponse, value: unknown): void {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
}
