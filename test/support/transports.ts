/** All operations over all transports as a buyer uses them, and the charges of a piece of work on chain. */
import { expect } from 'chai'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { REFUSALS, type RefusalCode } from '../../agent/operation/refusal.ts'
import { resourceUrl } from '../../agent/operation/resource.ts'
import { quoteIn, send, type RawReply, type RawRequest } from './raw-http.ts'
import type { TestService } from './service.ts'
import { operationOf } from './operations.ts'

export const COMPANY = '/api/v1/company'
export const SEARCH = '/api/v1/search'
export const RESOLVE = '/api/v1/resolve'
export const BATCH = '/api/v1/batch'

type Change = Partial<Omit<RawRequest, 'url'>>

/** A request that can be sent with or without a payment. */
export type Ask = (payment?: string) => Promise<RawReply>

/** The data part of an A2A request. */
export interface Operation {
  operation: string
  input: Record<string, unknown>
}

const paymentHeader = (payment: string | undefined) => (payment === undefined ? {} : { 'PAYMENT-SIGNATURE': payment })

export function requestOverTransports(service: () => Pick<TestService, 'url'>) {
  const get = (path: string, payment?: string, { headers, ...change }: Change = {}): Promise<RawReply> =>
    send({ url: service().url, path, headers: { ...paymentHeader(payment), ...headers }, ...change })

  const lookup = (number: string, payment?: string, change: Change = {}) => get(`${COMPANY}/${number}`, payment, change)

  /** Sends a search with this raw query string. */
  const search = (query: string, payment?: string, change: Change = {}) => get(`${SEARCH}?${query}`, payment, change)

  const post = (path: string, body: unknown, payment?: string, { headers, ...change }: Change = {}) =>
    get(path, payment, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
      ...change,
    })

  /** Sends a resolve. Text and bytes are sent as they are, other bodies as JSON. */
  const resolve = (body: unknown, payment?: string, change: Change = {}) => post(RESOLVE, body, payment, change)

  /** Sends a data part over A2A. Text is sent as the whole body. */
  const a2a = (data: unknown, payment?: string, id: string | number = 1, headers: Record<string, string> = {}) =>
    post('/a2a', typeof data === 'string' ? data : rpcBody(data, id), payment, {
      headers: { 'A2A-Version': '1.0', 'A2A-Extensions': `${service().url}/docs#http-x402-v1`, ...headers },
    })

  /** Sends an operation over REST. */
  const rest = ({ operation, input }: Operation, payment?: string) => {
    if (operation === 'resolve') return resolve(input, payment)
    if (operation === 'batch') return post(BATCH, input, payment)
    if (operation === 'search') return search(toQuery(input), payment)
    if (operation !== 'lookup') return get(resourceUrl('', operationOf({ operation, input })), payment)
    return lookup(String(input['company_number']), payment)
  }

  /** Calls the tool of an operation over MCP. The reply has the status, body and headers of REST. */
  const mcp = async (
    { operation, input }: Operation,
    payment?: unknown,
    own: Record<string, string> = {},
  ): Promise<RawReply> => {
    const { body, headers } = toolCall({ operation, input }, payment)
    return toRestReply(await post('/mcp', body, undefined, { headers: { ...headers, ...own } }))
  }

  return { get, lookup, search, resolve, rest, a2a, mcp }
}

const MCP_VERSION = '2026-07-28'
/** The tools of MCP by operation. */
export const TOOLS = {
  lookup: 'lookup_company',
  search: 'search_companies',
  resolve: 'resolve_company',
  history: 'company_history',
  as_of: 'company_on_day',
  changes: 'company_changes',
  batch: 'batch_companies',
} as const

/** The body and the headers of a tool call. The payment is an object or the value of a payment header. */
export function toolCall({ operation, input }: Operation, payment?: unknown) {
  const name = TOOLS[operation as keyof typeof TOOLS] ?? operation
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MCP_VERSION,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
    ...(payment !== undefined && { 'x402/payment': payment }),
  }
  return {
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input, _meta } },
    headers: {
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': MCP_VERSION,
      'Mcp-Method': 'tools/call',
      'Mcp-Name': name,
    },
  }
}

interface ToolResult {
  content: { text: string }[]
  _meta?: Record<string, object>
}

/** A reply without a result is returned as it is. */
function toRestReply(reply: RawReply): RawReply {
  const result = reply.json['result'] as ToolResult | undefined
  if (!result) return reply
  const { content, _meta = {} } = result
  // The error of a 402 follows the quote.
  const text = content.at(-1)?.text ?? ''
  const json = JSON.parse(text) as Record<string, unknown>
  const { code } = (json['error'] ?? {}) as { code?: RefusalCode }
  const headers = { ...reply.headers }
  const [quote, receipt] = [_meta['x402/error'], _meta['x402/payment-response']]
  if (quote) headers['payment-required'] = Buffer.from(JSON.stringify(quote)).toString('base64')
  if (receipt) headers['payment-response'] = Buffer.from(JSON.stringify(receipt)).toString('base64')
  return { ...reply, status: code ? REFUSALS[code].status : reply.status, text, json, headers }
}

export function buyOverTransports(service: () => Pick<TestService, 'url' | 'pay'>) {
  /** Signs a payment for the quote of an unpaid request. */
  const payFor = async (unpaid: Promise<RawReply>) => service().pay(quoteHeader(await unpaid))

  /** Asks for a quote and sends the same request with a payment for it. */
  const buy = async (ask: Ask) => ask(await payFor(ask()))

  return { ...requestOverTransports(service), payFor, buy }
}

/** Checks that `work` makes one transfer of each of these amounts from the buyer to the service, and no other. */
export async function expectCharges(
  service: Pick<TestService, 'paid'>,
  amounts: bigint[],
  work: () => Promise<unknown>,
): Promise<void> {
  const before = await service.paid()
  await work()
  const after = await service.paid()
  const total = amounts.reduce((sum, amount) => sum + amount, 0n)
  expect({
    spent: before.left - after.left,
    earned: after.received - before.received,
    transfers: after.transfers - before.transfers,
  }).to.deep.equal({ spent: total, earned: total, transfers: amounts.length })
}

/** The body of an A2A request with one data part. */
export function rpcBody(data: unknown, id: string | number = 1): string {
  return messageBody({ messageId: `m-${id}`, parts: [{ data }] }, id)
}

/** The body of an A2A request with this message. */
export function messageBody(message: object, id: string | number = 1): string {
  const params = { message: { messageId: 'm', role: 'ROLE_USER', ...message } }
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'SendMessage', params })
}

/** The query string of a search. */
function toQuery(input: Record<string, unknown>): string {
  const parameters = Object.entries(input).map(([name, value]): [string, string] => [name, String(value)])
  return new URLSearchParams(parameters).toString()
}

function quoteHeader({ headers }: RawReply): string {
  return String(headers['payment-required'])
}

export function quoteOf(reply: RawReply) {
  expect(reply.status, reply.text).to.equal(402)
  const quote = decodePaymentRequiredHeader(quoteHeader(reply))
  expect(quoteIn(reply)).to.deep.equal(quote)
  const [requirements, ...more] = quote.accepts
  expect(more).to.deep.equal([])
  return { url: quote.resource.url, amount: requirements?.amount }
}

/** Reads data and id of a direct Message. */
export function messageOf(reply: RawReply): { messageId: string; data: unknown } {
  expect(reply.status, reply.text).to.equal(200)
  const { message } = reply.json['result'] as { message: { messageId: string; parts: [{ data: unknown }] } }
  return { messageId: message.messageId, data: message.parts[0].data }
}

/** The message of a refusal, with field and rule. */
export function detailOf(reply: RawReply): string {
  return (reply.json['error'] as { message: string }).message
}
